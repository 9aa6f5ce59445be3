import { describe, test } from 'node:test';
import fc from '../../support/property.ts';
import { checkKilled, checkTogether, hosts } from '../../support/several-documents.ts';
import { noPauses } from '../../support/short-pauses.ts';

describe('several documents on one machine, whatever they ask for', () => {
  noPauses();
  for (const [what, count, numRuns] of [
    ['pairs', 2, 30],
    ['triples', 3, 15],
  ] as const) {
    test(`${what}: all that was asked for holds, second runs are empty, a reset of one leaves the others`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(hosts, { minLength: count, maxLength: count }), async (documents) => {
          await checkTogether(documents);
        }),
        { numRuns, seed: 20261128 },
      );
    });
  }

  test('the run of the second is killed at any of its changes, and run again', async () => {
    const shared = { kernelModules: ['overlay'], sysctl: { 'kernel.panic': 10 }, groups: [{ name: 'operators' }] };
    const a = { ...shared, files: [{ path: '/etc/app/a', content: 'a\n' }], hooks: { early: { commands: ['true'] } } };
    const b = {
      ...shared,
      sysctl: { 'kernel.panic': 10, 'vm.overcommit_memory': 1 },
      hosts: { entries: [{ address: '10.0.0.1', names: ['a.example'] }] },
      users: [{ name: 'linus', groups: ['operators'] }],
      files: [{ path: '/etc/app/b', content: 'b\n' }],
    };
    await checkKilled(a, b);
  });
});
