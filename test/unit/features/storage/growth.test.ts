import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FilesystemModel } from '@machineadm/document/model/index.ts';
import { decideGrowth, type GrowthFinding } from '../../../../src/features/storage/decisions.ts';
import { growFilesystem, inspectGrowth } from '../../../../src/features/storage/growth.ts';
import { grownScript } from '../../../../src/features/storage/partition-layout.ts';
import type { CommandResult } from '../../../../src/host/seam/host.ts';
import { decisionRows } from '../../../support/decision-table.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const MIB = 2 ** 20;
const DEVICE = { path: '/dev/sdb2', name: 'sdb2', sizeBytes: 512 * MIB };
const FINDINGS: Readonly<Record<GrowthFinding, true>> = {
  'no room': true,
  'room behind it': true,
  'room, but not behind it': true,
  'larger than its device': true,
};

describe('growth', () => {
  for (const { finding, conditions, outcome } of decisionRows('growth')) {
    const [grow = false] = conditions;
    test(`with ${finding}, grow ${grow}: ${outcome}`, () => {
      assert.ok(Object.hasOwn(FINDINGS, finding));
      assert.equal(decideGrowth(finding as GrowthFinding, grow), outcome);
    });
  }

  test('has a row for everything that is found', () => {
    const rows = new Set(decisionRows('growth').map(({ finding, conditions }) => [finding, ...conditions].join()));
    assert.equal(rows.size, Object.keys(FINDINGS).length * 2);
  });

  const size: Readonly<Record<string, string>> = {
    dumpe2fs: 'Block count:              65536\nReserved block count:     100\nBlock size:               4096\n',
    xfs_info:
      'meta-data=/dev/sdb2 isize=512 agcount=4, agsize=1 blks\ndata     =      bsize=4096   blocks=65536, imaxpct=25\nlog bsize=4096 blocks=1\n',
    btrfs: 'total_bytes\t\t999\ndev_item.total_bytes\t268435456\n',
  };

  /** A host with a file system of 256 MiB, and what was run on it. */
  function machine(mountpoint: string | null, results: Readonly<Record<string, Partial<CommandResult>>> = {}) {
    const ran: string[] = [];
    const answer =
      (program: string) =>
      ({ args = [] }: { readonly args?: readonly string[] }) => {
        if (args[0] !== '-h' && program !== 'lsblk' && program !== 'xfs_info' && args[0] !== 'inspect-internal')
          ran.push([program, ...args].join(' '));
        if (program === 'lsblk') return { stdout: JSON.stringify({ blockdevices: [{ name: 'sdb2', mountpoint }] }) };
        return { stdout: size[program] ?? '', ...results[program] };
      };
    const programs = ['lsblk', 'dumpe2fs', 'xfs_info', 'btrfs', 'resize2fs', 'xfs_growfs', 'mount', 'umount'];
    const host = memoryHost({ programs: Object.fromEntries(programs.map((program) => [program, answer(program)])) });
    return { host, ran };
  }

  const execution = {
    signal: new AbortController().signal,
    waitingFor() {},
    output() {},
    warn() {},
    remember() {},
    release() {},
  };
  const filesystem = (type: FilesystemModel['type']): FilesystemModel => ({
    device: { by: { kind: 'path', path: DEVICE.path }, partition: undefined, waitMs: 0 },
    type,
    label: undefined,
    options: [],
    overwrite: false,
    replace: [],
    grow: true,
  });

  const commands = {
    ext4: 'resize2fs /dev/sdb2',
    xfs: 'xfs_growfs -d /srv',
    btrfs: 'btrfs filesystem resize max /srv',
  } as const;
  for (const type of ['ext4', 'xfs', 'btrfs'] as const) {
    test(`of ${type} is measured, and grown where it is mounted`, async () => {
      const { host, ran } = machine('/srv');
      const growth = await inspectGrowth(host, type, DEVICE);
      const expected = { finding: 'room behind it', fromBytes: 256 * MIB, toBytes: 512 * MIB };
      assert.deepEqual(growth, expected);
      const smaller = await inspectGrowth(host, type, { ...DEVICE, sizeBytes: 128 * MIB });
      assert.equal(smaller?.finding, 'larger than its device');
      assert.equal((await inspectGrowth(host, type, { ...DEVICE, sizeBytes: 264 * MIB }))?.finding, 'no room');
      await growFilesystem(host, filesystem(type), DEVICE, 'host.storage.filesystems[0]', execution);
      assert.deepEqual(ran, [commands[type]]);
    });
  }

  test('of one that is not mounted mounts it for the time, also where it fails', async () => {
    const { host, ran } = machine(null, { resize2fs: { status: 1, stderr: 'resize2fs: Permission denied' } });
    await assert.rejects(growFilesystem(host, filesystem('ext4'), DEVICE, 'host.storage.filesystems[0]', execution), {
      reason: 'GrowthFailed',
      evidence: [{ source: 'resize2fs', text: 'resize2fs: Permission denied' }],
    });
    assert.deepEqual(ran, [
      'mount -t ext4 --source /dev/sdb2 --target /run/machineadm/growing',
      'resize2fs /dev/sdb2',
      'umount /run/machineadm/growing',
    ]);
  });

  test('of a partition changes its size alone in what sfdisk dumps, and leaves the end of the space to sfdisk', () => {
    const line = (node: string, size: string) => `${node} : start=        2048, size=${size}, type=L, uuid=A, name="b"`;
    for (const disk of ['/dev/sda', '/dev/nvme0n1p', '/dev/loop1p']) {
      const before = ['label: gpt', 'last-lba: 4062', '', line(`${disk}1`, '  32'), line(`${disk}11`, '  64')];
      const after = ['label: gpt', '', line(`${disk}1`, '  4096'), line(`${disk}11`, '  64')];
      assert.equal(grownScript(before.join('\n'), 1, 4096 * 512, 512), after.join('\n'));
    }
  });
});
