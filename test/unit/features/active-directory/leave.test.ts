import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { leaveDomain } from '../../../../src/features/active-directory/leave.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const DELETE = 'delete NODE-1 from corp.example.com, if the domain lets a computer delete itself';
const ORDER = { domain: 'corp.example.com', computer: 'NODE-1', keytab: '/etc/krb5.keytab' };

async function leaving(
  programs: MemoryMachine['programs'] = {},
  files: MemoryMachine['files'] = { [ORDER.keytab]: '' },
) {
  const host = memoryHost({ files, programs: { rm: () => ({}), ...programs } });
  const lines: string[] = [];
  await leaveDomain(host, ORDER, { line: (text) => void lines.push(text), signal: new AbortController().signal });
  return { lines, runs: host.log.filter((line) => line.startsWith('run ') && !line.startsWith('run rm')) };
}

describe('leaving a domain', () => {
  test('deletes the account with its own ticket', async () => {
    const { lines, runs } = await leaving({ kinit: () => ({}), adcli: () => ({}) });
    assert.deepEqual(runs, [
      'run kinit -k -t /etc/krb5.keytab NODE-1$@CORP.EXAMPLE.COM',
      'run adcli delete-computer --domain=corp.example.com --login-ccache=/run/machineadm/active-directory/tickets NODE-1',
    ]);
    assert.deepEqual(lines, [DELETE]);
  });

  test('does not report as remaining an account that an interrupted reset has deleted', async () => {
    const stderr =
      "kinit: Client 'NODE-1$@CORP.EXAMPLE.COM' not found in Kerberos database while getting initial credentials";
    const { lines } = await leaving({ kinit: () => ({ status: 1, stderr }), adcli: () => ({}) });
    assert.deepEqual(lines, [DELETE]);
  });

  const refusals: readonly (readonly [string, MemoryMachine['programs'], string])[] = [
    ['a program is missing', {}, 'kinit is not installed'],
    ['there is no ticket', { adcli: () => ({}), kinit: () => ({ status: 1, stderr: 'kinit: no KDC\n' }) }, 'no KDC'],
    [
      'the domain refuses',
      { kinit: () => ({}), adcli: () => ({ status: 6, stderr: "adcli: deleting failed: Couldn't delete" }) },
      "Couldn't delete",
    ],
  ];
  for (const [name, programs, why] of refusals) {
    test(`continues and says what is left to do where ${name}`, async () => {
      const { lines } = await leaving(programs);
      assert.equal(lines.length, 2);
      assert.ok(
        lines[1]?.startsWith('warning: the account NODE-1 stays in corp.example.com (') && lines[1].includes(why),
      );
    });
  }

  test('has nothing to do where the keys are gone: an interrupted reset is run again', async () => {
    const { lines, runs } = await leaving({ kinit: () => ({}), adcli: () => ({}) }, {});
    assert.deepEqual([lines, runs], [[], []]);
  });
});
