import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import {
  checkCapacity,
  checkCgroups,
  checkDisks,
  checkSwap,
  checkTimeSource,
  type MachineUse,
} from '../../../../src/diagnosis/checks/machine.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const MIB = 1024 * 1024;

/** A mounted file system, as findmnt prints it: size and free space in MiB. */
type Mount = readonly [size: number, free: number, options?: string];

/** A machine with these file systems; a directory without one of its own does not exist yet. */
function mounted(mounts: Readonly<Record<string, Mount>>) {
  return memoryHost({
    programs: {
      findmnt: ({ args }) => {
        const at = args.at(-1) ?? '';
        const mount = mounts[at];
        if (mount === undefined) return { status: 1 };
        const [size, free, options = 'rw,relatime'] = mount;
        return { stdout: `${at} ${size * MIB} ${free * MIB} ${options}\n` };
      },
    },
  });
}

describe('the file systems of a node', () => {
  const of = async (mounts: Readonly<Record<string, Mount>>, use?: MachineUse) =>
    (await checkDisks(mounted(mounts), use)).map(({ id, severity, reason, text }) => [id, severity, reason, text]);

  test('are each checked by what grows there', async () => {
    const mounts: Readonly<Record<string, Mount>> = {
      '/': [20_000, 10_000],
      '/var/lib/kubelet': [1_000, 99],
      '/var/lib/containerd': [1_000, 149],
      '/var/lib/etcd': [10_000, 127],
      '/var/log': [1_000, 15],
    };
    assert.deepEqual(await of(mounts), [
      [
        'disk/var/lib/kubelet',
        'warning',
        'NodeDiskPressure',
        'the file system of /var/lib/kubelet (/var/lib/kubelet) is nearly full: 99 MiB of 1000 MiB free (9 %)',
      ],
      [
        'disk/var/lib/containerd',
        'warning',
        'NodeDiskPressure',
        'the file system of /var/lib/containerd (/var/lib/containerd) is nearly full: 149 MiB of 1000 MiB free (14 %)',
      ],
      [
        'disk/var/lib/etcd',
        'failed',
        'DiskFull',
        'the file system of /var/lib/etcd (/var/lib/etcd) is full: 127 MiB of 10000 MiB free (1 %)',
      ],
      [
        'disk/var/log',
        'failed',
        'DiskFull',
        'the file system of /var/log (/var/log) is full: 15 MiB of 1000 MiB free (1 %)',
      ],
    ]);
  });

  test('are sufficient exactly at their limits', async () => {
    const mounts: Readonly<Record<string, Mount>> = {
      '/var/lib/kubelet': [1_000, 100],
      '/var/lib/containerd': [1_000, 150],
      '/var/lib/etcd': [10_000, 128],
      '/var/log': [1_000, 16],
    };
    assert.deepEqual(
      (await of(mounts)).map(([id, severity]) => `${id} ${severity}`),
      [
        'disk/var/lib/kubelet passed',
        'disk/var/lib/containerd passed',
        'disk/var/lib/etcd passed',
        'disk/var/log passed',
      ],
    );
  });

  for (const [free, expected] of [
    [128, 'warning'],
    [127, 'failed'],
    [1_500, 'passed'],
    [1_499, 'warning'],
  ] as const)
    test(`that serve several of them have the strictest limits: ${free} MiB of 10000 are ${expected}`, async () => {
      const [found, ...more] = await of({ '/': [10_000, free] });
      assert.deepEqual([found?.[0], found?.[1], more], ['disk/var/lib/kubelet', expected, []]);
    });

  for (const [use, ids] of [
    ['host', ['disk/var/log']],
    ['worker', ['disk/var/lib/kubelet', 'disk/var/lib/containerd', 'disk/var/log']],
    ['controlPlane', ['disk/var/lib/kubelet', 'disk/var/lib/containerd', 'disk/var/lib/etcd', 'disk/var/log']],
  ] as const)
    test(`count on a machine that is a ${use} only where something grows`, async () => {
      const mount: Mount = [1_000, 900];
      const mounts = {
        '/var/lib/kubelet': mount,
        '/var/lib/containerd': mount,
        '/var/lib/etcd': mount,
        '/var/log': mount,
      };
      assert.deepEqual(
        (await of(mounts, use)).map(([id]) => id),
        ids,
      );
    });

  test('of a directory that does not exist yet are those of the nearest directory above it', async () => {
    assert.deepEqual(await of({ '/var': [2_000, 1_000], '/': [10, 1] }, 'worker'), [
      ['disk/var/lib/kubelet', 'passed', undefined, '/var/lib/kubelet (/var): 1000 MiB of 2000 MiB free (50 %)'],
    ]);
    const host = mounted({ '/': [2_000, 1_000] });
    await checkDisks(host, 'host');
    assert.deepEqual(
      host.queries,
      ['/var/log', '/var', '/'].map((at) => `findmnt -n -r -b -o TARGET,SIZE,AVAIL,OPTIONS --target ${at}`),
    );
  });

  test('that are read-only are a failure, whatever is free', async () => {
    const [found] = await checkDisks(mounted({ '/var/log': [1_000, 900, 'relatime,ro'] }), 'host');
    assert.deepEqual(found, {
      id: 'disk/var/log',
      title: 'machine',
      severity: 'failed',
      reason: 'ReadOnlyFilesystem',
      text: 'the file system of /var/log (/var/log) is read-only',
      remedy: 'Remount /var/log writable.',
    });
    const [errors] = await checkDisks(mounted({ '/var/log': [1_000, 900, 'rw,errors=remount-ro'] }), 'host');
    assert.equal(errors?.severity, 'passed');
  });

  test('are unknown where findmnt says nothing of them, or no size', async () => {
    assert.deepEqual(await of({}), []);
    assert.deepEqual(await of({ '/': [0, 0] }), []);
  });

  test('are what is mounted on top', async () => {
    const host = memoryHost({
      programs: { findmnt: () => ({ stdout: `/below ${MIB} 0 ro\n/top ${100 * MIB} ${50 * MIB} rw\n` }) },
    });
    const [found] = await checkDisks(host, 'host');
    assert.equal(found?.text, '/var/log (/top): 50 MiB of 100 MiB free (50 %)');
  });
});

describe('the memory and the processors of a machine', () => {
  const of = async (total: number, available: number, use: MachineUse, cpus = 2) =>
    (
      await checkCapacity(
        memoryHost({
          files: { '/proc/meminfo': `MemTotal: ${total * 1024} kB\nMemAvailable:   ${available * 1024} kB\n` },
        }),
        use,
        cpus,
      )
    ).map(({ title, id, severity, reason, text }) => [title, id, severity, reason, text]);
  const PROCESSORS = ['machine', 'cpu', 'passed', undefined, '2 processors'];

  test('are reported where they suffice', async () => {
    assert.deepEqual(await of(4_000, 3_000, 'worker'), [
      ['machine', 'memory', 'passed', undefined, 'memory: 3000 MiB of 4000 MiB available'],
      PROCESSORS,
    ]);
  });

  test('are a failure below the limits of a control plane, and for that only', async () => {
    assert.deepEqual(await of(1_699, 1_000, 'controlPlane', 1), [
      [
        'machine',
        'memory',
        'failed',
        'InsufficientMemory',
        'the machine has 1699 MiB of memory, a control plane needs 1700 MiB',
      ],
      ['machine', 'cpu', 'failed', 'InsufficientCPU', 'the machine has 1 processor, a control plane needs 2'],
    ]);
    for (const [total, use, cpus] of [
      [1_700, 'controlPlane', 2],
      [1_699, 'worker', 1],
      [1_699, 'host', 1],
    ] as const)
      assert.deepEqual(
        (await of(total, 1_000, use, cpus)).map(([, , severity]) => severity),
        ['passed', 'passed'],
      );
  });

  const SCARCE: readonly (readonly [MachineUse, number, number])[] = [
    // The machine's use, its memory, and the least of it that must be available: 2 % of a host; of a node 20 %, at most 200 MiB.
    ['host', 10_000, 200],
    ['host', 1_000, 20],
    ['worker', 10_000, 200],
    ['worker', 500, 100],
    ['controlPlane', 10_000, 200],
  ];
  for (const [use, total, least] of SCARCE)
    test(`are scarce on a ${use} of ${total} MiB below ${least} MiB`, async () => {
      const [enough, scarce] = [await of(total, least, use), await of(total, least - 1, use)];
      assert.equal(enough[0]?.[2], 'passed');
      assert.deepEqual(scarce, [
        [
          'machine',
          'memory',
          'warning',
          'OutOfMemory',
          `memory is nearly used up: ${least - 1} MiB of ${total} MiB available`,
        ],
        PROCESSORS,
      ]);
    });

  test('are unknown where the kernel does not report them', async () => {
    for (const files of [{}, { '/proc/meminfo': 'SomeMemTotal: 1024 kB\n' }])
      assert.deepEqual(
        (await checkCapacity(memoryHost({ files }), 'worker', 4)).map(({ text }) => text),
        ['4 processors'],
      );
  });
});

describe('the swap of a machine', () => {
  const of = async (content: string | undefined, willBeDisabled: boolean) =>
    (
      await checkSwap(memoryHost({ files: content === undefined ? {} : { '/proc/swaps': content } }), willBeDisabled)
    ).map(({ id, title, severity, reason, text }) => [id, title, severity, reason, text]);
  const HEADING = 'Filename\t\t\tType\t\tSize\n';
  const ON = `${HEADING}/dev/vdb  partition 1024 0 -2\n/swapfile file 2048 0 -3\n`;

  test('is off where the kernel lists no device', async () => {
    const off = ['swap', 'machine', 'passed', undefined, 'swap is off'];
    assert.deepEqual([...(await of(undefined, false)), ...(await of(HEADING, false))], [off, off]);
  });

  test('is a warning with the names of its devices, unless the document turns it off', async () => {
    assert.deepEqual(await of(ON, false), [
      ['swap', 'machine', 'warning', 'SwapEnabled', 'swap is on: /dev/vdb, /swapfile'],
    ]);
    assert.deepEqual(await of(ON, true), [
      ['swap', 'machine', 'passed', undefined, 'swap is on (/dev/vdb, /swapfile); provision turns it off'],
    ]);
  });
});

describe('the cgroups of a machine', () => {
  const V1 = { '/sys/fs/cgroup/memory/cgroup.procs': '' };
  const V2 = { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids' };
  for (const [what, files, kubelet, severity, text] of [
    ['v2', V2, 'v1.35.0', 'passed', 'cgroup v2'],
    ['v1 without a kubelet', V1, undefined, 'passed', 'cgroup v1'],
    ['v1 that the kubelet takes', V1, 'v1.34.0', 'passed', 'cgroup v1'],
    ['v1 that it refuses', V1, 'v1.35.0', 'failed', 'the machine runs cgroup v1, which kubelet 1.35 refuses'],
    ['none that are mounted', {}, 'v1.35.0', 'passed', 'cgroup v1'],
  ] as const)
    test(`that are ${what} are reported as: ${text}`, async () => {
      const [found, ...more] = await checkCgroups(memoryHost({ files }), kubelet && parseVersion(kubelet));
      assert.deepEqual(
        [found?.id, found?.title, found?.severity, found?.reason, found?.text, more],
        ['cgroup', 'machine', severity, severity === 'failed' ? 'CgroupV1Unsupported' : undefined, text, []],
      );
      assert.equal(found?.remedy !== undefined, severity === 'failed');
    });
});

test('a controller of cgroup v2 that the kernel has switched off is a failure for a kubelet', async () => {
  const host = memoryHost({ files: { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io pids\n' } });
  const [found] = await checkCgroups(host, parseVersion('v1.36.3'));
  assert.deepEqual(
    [found?.severity, found?.reason, found?.text],
    [
      'failed',
      'RequiredCgroupsMissing',
      'cgroup v2 of this machine does not have memory, which kubeadm and the kubelet need',
    ],
  );
  assert.match(found?.remedy ?? '', /cgroup_enable=memory/);
  for (const [kubelet, hasDocument] of [
    [undefined, false],
    [parseVersion('v1.36.3'), true],
  ] as const)
    assert.equal((await checkCgroups(host, kubelet, hasDocument))[0]?.severity, 'passed');
});

test('cgroup v1 is no problem for a kubelet that is configured for it, and with a document the preflight decides', async () => {
  const v1 = { '/sys/fs/cgroup/memory/cgroup.procs': '' };
  const kubelet = parseVersion('v1.36.2');
  const of = async (config: string | undefined, hasDocument = false) => {
    const files = { ...v1, ...(config === undefined ? {} : { '/var/lib/kubelet/config.yaml': config }) };
    const [found] = await checkCgroups(memoryHost({ files }), kubelet, hasDocument);
    return found?.severity;
  };
  assert.equal(await of('kind: KubeletConfiguration\nfailCgroupV1: false\n'), 'passed');
  assert.equal(await of('kind: KubeletConfiguration\nfailCgroupV1: true\n'), 'failed');
  assert.equal(await of('kind: KubeletConfiguration\n'), 'failed');
  assert.equal(await of(undefined, true), 'passed');
});

describe('the time source of a machine', () => {
  const of = async (answer: { readonly status?: number; readonly stdout?: string }) => {
    const host = memoryHost({ programs: { timedatectl: () => answer } });
    const found = await checkTimeSource(host);
    assert.deepEqual(host.queries, ['timedatectl show -p NTPSynchronized --value']);
    return found.map(({ id, title, severity, reason, text }) => [id, title, severity, reason, text]);
  };

  test('has set the clock, or a warning says that none did', async () => {
    assert.deepEqual(await of({ stdout: 'yes\n' }), [
      ['clock/source', 'machine', 'passed', undefined, 'the clock is synchronised'],
    ]);
    assert.deepEqual(await of({ stdout: 'no\n' }), [
      ['clock/source', 'machine', 'warning', 'ClockSkew', 'no time source has set the clock since the boot'],
    ]);
  });

  test('is unknown where timedatectl does not answer', async () => {
    assert.deepEqual(await of({ status: 1, stdout: 'yes\n' }), []);
  });
});
