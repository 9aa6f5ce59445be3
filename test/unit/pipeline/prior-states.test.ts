import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { priorStates } from '../../../src/pipeline/prior-states.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { memoryJournal } from './fake-steps.ts';

const IPV4 = '/proc/sys/net/ipv4/conf';
const IPV6 = '/proc/sys/net/ipv6/conf';

/** What is recorded before a kernel setting changes, with the values. */
async function recordedBefore(path: string): Promise<readonly (readonly [of: string, value: unknown])[]> {
  const files: Record<string, string> = { '/proc/sys/net/ipv4/ip_forward': '0\n', '/proc/sys/vm/swappiness': '60\n' };
  for (const directory of [IPV4, IPV6])
    for (const name of ['all', 'default', 'eth0']) {
      files[`${directory}/${name}/forwarding`] = `${name.length}\n`;
      files[`${directory}/${name}/accept_redirects`] = '1\n';
    }
  const journal = memoryJournal();
  await priorStates(memoryHost({ files }), 'sysctl', journal).before([`kernel:${path}`]);
  return [...journal.state().before].map(([of, { was }]) => [
    of.replace('kernel:', ''),
    was?.is === 'kernel' ? was.value : was,
  ]);
}

describe('before a kernel setting changes, those are recorded that the kernel changes with it', () => {
  const ofInterfaces = (directory: string) => [
    [`${directory}/all/forwarding`, '3'],
    [`${directory}/default/forwarding`, '7'],
    [`${directory}/eth0/forwarding`, '4'],
  ];

  for (const path of ['/proc/sys/net/ipv4/ip_forward', `${IPV4}/all/forwarding`])
    test(`${path}: forwarding of every interface, and redirects`, async () => {
      const others = ofInterfaces(IPV4).filter(([other]) => other !== path);
      const value = path.endsWith('ip_forward') ? '0' : '3';
      assert.deepEqual(await recordedBefore(path), [[path, value], ...others, [`${IPV4}/all/accept_redirects`, '1']]);
    });

  for (const name of ['all', 'default'])
    test(`IPv6 forwarding of ${name}: that of every interface`, async () => {
      const path = `${IPV6}/${name}/forwarding`;
      const [own, others] = [
        ofInterfaces(IPV6).filter(([one]) => one === path),
        ofInterfaces(IPV6).filter(([one]) => one !== path),
      ];
      assert.deepEqual(await recordedBefore(path), [...own, ...others]);
    });

  test('one of a single interface, and another one: itself', async () => {
    for (const [path, value] of [
      [`${IPV4}/eth0/forwarding`, '4'],
      ['/proc/sys/vm/swappiness', '60'],
    ] as const)
      assert.deepEqual(await recordedBefore(path), [[path, value]]);
  });
});
