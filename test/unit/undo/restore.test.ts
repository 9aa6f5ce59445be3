import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Resource } from '../../../src/host/seam/resource.ts';
import { STEPS_BY_ID } from '../../../src/pipeline/pipeline.ts';
import type { FollowUp } from '../../../src/step/index.ts';
import type { BeforeRecord, Memory } from '../../../src/step/memory.ts';
import type { PriorState } from '../../../src/step/recorded-state.ts';
import { planRestore, planUndo } from '../../../src/undo/restore.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';

type Resources = Readonly<Record<string, PriorState>>;

/** What the journal remembers: how resources were, and what our changes made of them. */
function memory(
  was: Resources,
  marks: Readonly<Record<string, readonly string[]>> = {},
  owed: readonly FollowUp[] = [],
  isResetting = false,
): Memory {
  const before = Object.entries(was).map(([of, state]): [Resource, BeforeRecord] => [
    of as Resource,
    { step: 'files', was: state, isMarked: true, document: '' },
  ]);
  return {
    before: new Map(before),
    after: new Map(Object.entries(marks) as [Resource, readonly string[]][]),
    everOwed: new Map([['files', new Set(owed)]]),
    acted: new Map(),
    note: () => undefined,
    isResetting,
    isAdopted: false,
    others: () => false,
  };
}

const SWAPS = 'Filename Type Size Used Priority\n/dev/sdb partition 1 0 -2\n';
const MOUNTED = (options: string) => ({ '/proc/self/mountinfo': `36 35 98:0 / /data ${options} - ext4 /dev/vdb rw\n` });
const FORWARD = '/proc/sys/net/ipv4/ip_forward';
const PROGRAMS = Object.fromEntries(
  ['swapon', 'swapoff', 'mount', 'umount', 'rmmod', 'systemd-sysusers', 'systemd-tmpfiles', 'udevadm'].map((name) => [
    name,
    () => ({}),
  ]),
);

async function restored(machine: MemoryMachine, remembered: Memory) {
  const host = memoryHost({ programs: PROGRAMS, ...machine });
  const actions = await planRestore(STEPS_BY_ID, host, remembered, 'debian');
  const said = actions.flatMap(({ summary }) => summary ?? []);
  for (const action of actions) await action.perform?.(host, new AbortController().signal);
  return { said, log: host.log };
}

describe('a reset', () => {
  for (const [what, machine, was, marks, said, log] of [
    [
      'sets a kernel setting again',
      { kernelFiles: { [FORWARD]: '1' } },
      { [`kernel:${FORWARD}`]: { is: 'kernel', value: '0' } },
      ['1'],
      'set net/ipv4/ip_forward to 0 again',
      [`kernel ${FORWARD} = 0`],
    ],
    [
      'leaves a kernel setting that somebody else changed',
      { kernelFiles: { [FORWARD]: '2' } },
      { [`kernel:${FORWARD}`]: { is: 'kernel', value: '0' } },
      ['1'],
      'leave net/ipv4/ip_forward: it was changed since machineadm changed it',
      [],
    ],
    [
      'needs nothing for a kernel setting that is gone',
      {},
      { [`kernel:${FORWARD}`]: { is: 'kernel', value: '0' } },
      ['absent'],
      undefined,
      [],
    ],
    [
      'turns off swap that was off',
      { files: { '/proc/swaps': SWAPS } },
      { 'swap:/dev/sdb': null },
      ['swap'],
      'turn off swap on /dev/sdb',
      ['run swapoff -- /dev/sdb'],
    ],
    [
      'turns on swap that was on, with its priority',
      {},
      { 'swap:/dev/sdb': { is: 'swap', priority: 5 } },
      ['absent'],
      'turn on swap on /dev/sdb',
      ['run swapon --priority=5 -- /dev/sdb'],
    ],
    [
      'turns on swap with a priority of 0',
      {},
      { 'swap:/dev/sdb': { is: 'swap', priority: 0 } },
      ['absent'],
      'turn on swap on /dev/sdb',
      ['run swapon --priority=0 -- /dev/sdb'],
    ],
    [
      'turns on swap to which the kernel gave its priority',
      {},
      { 'swap:/dev/sdb': { is: 'swap', priority: -2 } },
      ['absent'],
      'turn on swap on /dev/sdb',
      ['run swapon -- /dev/sdb'],
    ],
    [
      'needs nothing for swap that is on again with another priority',
      { files: { '/proc/swaps': SWAPS } },
      { 'swap:/dev/sdb': { is: 'swap', priority: 5 } },
      ['absent'],
      undefined,
      [],
    ],
    [
      'leaves swap off that somebody else turned off',
      {},
      { 'swap:/dev/sdb': { is: 'swap', priority: 5 } },
      ['swap'],
      'leave swap on /dev/sdb: it was changed since machineadm changed it',
      [],
    ],
    [
      'unmounts what was not mounted',
      { files: MOUNTED('rw') },
      { 'mount:/data': null },
      ['ext4 rw'],
      'unmount /data',
      ['run umount -- /data'],
    ],
    [
      'mounts what was mounted',
      {},
      { 'mount:/data': { is: 'mount', source: '/dev/vdb', type: 'ext4', options: 'ro' } },
      ['absent'],
      'mount /dev/vdb on /data',
      ['run mount -t ext4 -o ro --source /dev/vdb --target /data'],
    ],
    [
      'mounts again with the options of before',
      { files: MOUNTED('rw') },
      { 'mount:/data': { is: 'mount', source: '/dev/vdb', type: 'ext4', options: 'ro' } },
      ['ext4 rw'],
      'remount /data with ro',
      ['run mount -o remount,ro /data'],
    ],
    [
      'leaves a mount that somebody else changed',
      { files: MOUNTED('rw') },
      { 'mount:/data': null },
      ['ext4 ro'],
      'leave the mount on /data: it was changed since machineadm changed it',
      [],
    ],
    [
      'needs nothing for a mount of which nothing is known',
      { files: MOUNTED('rw') },
      { 'mount:/data': { is: 'unknown' } },
      ['ext4 ro'],
      undefined,
      [],
    ],
    [
      'unloads a module that was not loaded',
      { files: { '/sys/module/zram': { type: 'directory' } } },
      { 'module:zram': null },
      [],
      'unload zram, unless something uses it',
      ['run rmmod -- zram'],
    ],
    ['does not load a module that was loaded', {}, { 'module:zram': { is: 'module' } }, [], undefined, []],
  ] as const satisfies readonly (readonly [
    string,
    MemoryMachine,
    Resources,
    readonly string[],
    string | undefined,
    readonly string[],
  ])[]) {
    test(what, async () => {
      const [of = ''] = Object.keys(was);
      const found = await restored(machine, memory(was, { [of]: marks }));
      assert.deepEqual([found.said, found.log], [said === undefined ? [] : [said], log]);
    });
  }

  test('undoes resources from the last to the first, and kernel settings from the first to the last', async () => {
    const settings = { '/proc/sys/a': '1', '/proc/sys/b': '1' };
    const found = await restored(
      { files: { '/etc/one': 'x', '/etc/two': 'x' }, kernelFiles: settings },
      memory(
        {
          'path:/etc/one': null,
          'kernel:/proc/sys/a': { is: 'kernel', value: '0' },
          'path:/etc/two': null,
          'kernel:/proc/sys/b': { is: 'kernel', value: '0' },
        },
        { 'path:/etc/one': ['?'], 'path:/etc/two': ['?'], 'kernel:/proc/sys/a': ['1'], 'kernel:/proc/sys/b': ['1'] },
      ),
    );
    assert.deepEqual(found.log, [
      'remove /etc/two',
      'remove /etc/one',
      'kernel /proc/sys/a = 0',
      'kernel /proc/sys/b = 0',
    ]);
  });

  test('sets a setting again that the kernel changed beside another one', async () => {
    const host = memoryHost({
      kernelFiles: {
        '/proc/sys/a': {
          value: '1',
          write: (value) => {
            host.put('/proc/sys/unused', '');
            return value;
          },
        },
        '/proc/sys/b': '7',
      },
    });
    const remembered = memory(
      { 'kernel:/proc/sys/a': { is: 'kernel', value: '0' }, 'kernel:/proc/sys/b': { is: 'kernel', value: '7' } },
      { 'kernel:/proc/sys/a': ['1'], 'kernel:/proc/sys/b': ['8'] },
    );
    const actions = await planRestore(STEPS_BY_ID, host, remembered, 'debian');
    const signal = new AbortController().signal;
    for (const action of actions.slice(0, -1)) await action.perform?.(host, signal);
    await host.writeKernelFile('/proc/sys/b', '9');
    await actions.at(-1)?.perform?.(host, signal);
    assert.deepEqual(host.log, ['kernel /proc/sys/a = 0', 'kernel /proc/sys/b = 9', 'kernel /proc/sys/b = 7']);
  });

  for (const [path, commands] of [
    ['/etc/systemd/system/x.service', ['service reload']],
    ['/usr/lib/systemd/system/x.service', ['service reload']],
    ['/etc/sysusers.d/x.conf', ['run systemd-sysusers']],
    ['/etc/tmpfiles.d/x.conf', ['run systemd-tmpfiles --create']],
    ['/etc/udev/rules.d/x.rules', ['run udevadm control --reload']],
    ['/etc/udev/hwdb.d/x.hwdb', ['run udevadm control --reload']],
    ['/etc/x.conf', []],
  ] as const) {
    test(`lets what is made of ${path} be made again`, async () => {
      const remembered = memory({ [`path:${path}`]: null }, { [`path:${path}`]: ['?'] });
      const { log } = await restored({ files: { [path]: 'x' } }, remembered);
      assert.deepEqual(
        log.filter((line) => !line.startsWith('service stop') && !line.startsWith('service disable')),
        [`remove ${path}`, ...commands],
      );
    });
  }

  test('does without a program that is not there', async () => {
    const remembered = memory({ 'path:/etc/sysusers.d/x': null }, { 'path:/etc/sysusers.d/x': ['?'] });
    const { log } = await restored({ files: { '/etc/sysusers.d/x': '' }, programs: {} }, remembered);
    assert.deepEqual(log, ['remove /etc/sysusers.d/x']);
  });

  test('restarts what the changes owed, where something is undone or an earlier reset was interrupted', async () => {
    const services = { app: { active: true } };
    const was = { 'path:/etc/x': null } as const;
    const owed: readonly FollowUp[] = ['restart:app', 'daemon-reload'];
    const marks = { 'path:/etc/x': ['?'] };
    const after = ['service reload', 'service restart app'];
    const there = await restored({ services, files: { '/etc/x': '' } }, memory(was, marks, owed));
    assert.deepEqual(there.log, ['remove /etc/x', ...after]);
    assert.deepEqual((await restored({ services }, memory(was, marks, owed))).log, []);
    assert.deepEqual((await restored({ services }, memory(was, marks, owed, true))).log, after);
  });

  test('stops a service that works in what is unmounted, and starts it again', async () => {
    const remembered = memory({ 'mount:/data': null }, { 'mount:/data': ['?'] }, ['restart:app.service']);
    const { log } = await restored({ files: MOUNTED('rw'), services: { app: { active: true } } }, remembered);
    assert.deepEqual(log, ['service stop app', 'run umount -- /data', 'service start app']);
  });
});

test('what the document does not ask for any more is undone alone, and no module is unloaded', async () => {
  const host = memoryHost({ files: { '/etc/a': '', '/etc/b': '', '/sys/module/zram': { type: 'directory' } } });
  const remembered = memory(
    { 'path:/etc/a': null, 'path:/etc/b': null, 'module:zram': null },
    { 'path:/etc/a': ['?'] },
  );
  const dropped = new Map([...remembered.before].filter(([of]) => of !== 'path:/etc/b'));
  const actions = await planUndo(STEPS_BY_ID, host, remembered, dropped);
  assert.deepEqual(
    actions.map(({ summary }) => summary),
    ['remove /etc/a'],
  );
});
