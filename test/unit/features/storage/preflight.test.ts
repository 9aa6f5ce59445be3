import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceIdentity, StorageModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../../src/features/storage/disks.ts';
import { filesystems } from '../../../../src/features/storage/filesystems.ts';
import { willBePartitioned } from '../../../../src/features/storage/pending.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';

const device = { by: { kind: 'path', path: '/dev/sdb' }, partition: undefined, waitMs: 0 } as const;
const disk: StorageModel['disks'][number] = {
  device,
  table: 'gpt',
  wipe: false,
  partitions: [{ label: undefined, size: { kind: 'rest' }, type: 'linux' }],
};
const filesystem: StorageModel['filesystems'][number] = {
  device,
  type: 'xfs',
  label: undefined,
  options: [],
  overwrite: false,
  replace: [],
};

const PROGRAMS = ['sfdisk', 'wipefs', 'blkid', 'lsblk', 'partx', 'mkfs.xfs'];

/** A machine whose /dev/sdb holds this signature. */
function machineWith(signature: string | undefined, without: readonly string[] = [], uuid?: string): MemoryHost {
  const row = { name: '/dev/sdb', kname: '/dev/sdb', type: 'disk', size: 2 ** 30, mountpoint: null };
  const answers: Readonly<Record<string, MemoryProgram>> = {
    lsblk: () => ({ stdout: JSON.stringify({ blockdevices: [row] }) }),
    wipefs: () => ({ stdout: signature === undefined ? '' : `0x438,,,${signature}\n` }),
    blkid: () => ({
      stdout: signature === undefined ? '' : `TYPE=${signature}\n${uuid === undefined ? '' : `UUID=${uuid}\n`}`,
    }),
  };
  const installed = PROGRAMS.filter((program) => !without.includes(program));
  return memoryHost({
    files: { '/dev/sdb': { type: 'other' } },
    programs: Object.fromEntries(installed.map((program) => [program, answers[program] ?? (() => ({ status: 1 }))])),
  });
}

/** What both steps miss, each with its remedy. */
async function missing(host: MemoryHost, part: Partial<StorageModel>) {
  const model = hostModel({ storage: { disks: [], filesystems: [], mounts: [], ...part } });
  const wantedDisks = disks.desired(model, facts());
  const wantedFilesystems = filesystems.desired(model, facts());
  const found = [
    ...(wantedDisks === undefined ? [] : ((await disks.preflight?.(host, wantedDisks)) ?? [])),
    ...(wantedFilesystems === undefined ? [] : ((await filesystems.preflight?.(host, wantedFilesystems)) ?? [])),
  ];
  return found.map(({ reason, remedy }) => [reason, remedy]);
}

const reasonsOf = (found: readonly (readonly string[])[]) => found.map(([reason]) => reason);

describe('before anything is changed', () => {
  test('a mkfs that is not installed is reported with its package', async () => {
    assert.deepEqual(await missing(machineWith(undefined, ['mkfs.xfs']), { filesystems: [filesystem] }), [
      ['StorageToolMissing', 'Install xfsprogs, preferably in the image.'],
    ]);
    assert.deepEqual(await missing(machineWith(undefined, ['sfdisk']), { disks: [disk] }), [
      ['StorageToolMissing', 'Install fdisk (Debian, Ubuntu) or util-linux, preferably in the image.'],
    ]);
  });

  test('a disk or device that holds something else is reported', async () => {
    assert.deepEqual(reasonsOf(await missing(machineWith('crypto_LUKS'), { disks: [disk] })), ['DiskNotEmpty']);
    assert.deepEqual(reasonsOf(await missing(machineWith('ext4'), { filesystems: [filesystem] })), [
      'FilesystemDiffers',
    ]);
    assert.deepEqual(await missing(machineWith(undefined), { disks: [disk], filesystems: [filesystem] }), []);
  });

  test('a disk that is too small for its partitions is reported with its place, whatever is to be destroyed on it', async () => {
    const size = (bytes: number) => ({ label: undefined, size: { kind: 'bytes', bytes }, type: 'linux' }) as const;
    const large = { ...disk, partitions: [size(2 ** 29), size(2 ** 29)] };
    const host = machineWith(undefined);
    const desired = disks.desired(hostModel({ storage: { disks: [large], filesystems: [], mounts: [] } }), facts());
    assert.ok(desired !== undefined);
    const [found] = (await disks.preflight?.(host, desired)) ?? [];
    assert.deepEqual([found?.reason, found?.field, found?.scope], ['DiskTooSmall', 'host.storage.disks[0]', 'node']);
    assert.match(found?.what ?? '', /do not fit on \/dev\/sdb, which has room for 1022 MiB/);
    assert.deepEqual(host.log, []);
    assert.deepEqual(reasonsOf(await missing(machineWith('ext4'), { disks: [{ ...large, wipe: true }] })), [
      'DiskTooSmall',
    ]);
    const fitting = { ...disk, partitions: [size(2 ** 29), size(2 ** 28)] };
    assert.deepEqual(await missing(machineWith(undefined), { disks: [fitting] }), []);
  });

  test('of the same type and another label it is reported, unless the journal says that this instance was making it', async () => {
    const labelled = { ...filesystem, label: 'x' };
    assert.deepEqual(reasonsOf(await missing(machineWith('xfs'), { filesystems: [labelled] })), ['FilesystemDiffers']);
    const desired = { filesystems: [labelled], disks: [] };
    const note = (uuid: string) => ({
      ...EMPTY_RECORD,
      notes: new Map([['filesystems//dev/sdb', { uuid, made: false }]]),
    });
    const host = machineWith('xfs', [], '6f0ad5e2-0000-4000-8000-000000000001');
    assert.deepEqual(await filesystems.preflight?.(host, desired, note('6f0ad5e2-0000-4000-8000-000000000001')), []);
    const others = (await filesystems.preflight?.(host, desired, note('6f0ad5e2-0000-4000-8000-000000000002'))) ?? [];
    assert.deepEqual(
      others.map(({ reason }) => reason),
      ['FilesystemDiffers'],
    );
  });

  test('a partition of a disk that is still to be partitioned is not checked', async () => {
    const part = {
      disks: [{ ...disk, wipe: true }],
      filesystems: [{ ...filesystem, device: { ...device, partition: 1 } }],
    };
    assert.deepEqual(await missing(machineWith('ext4'), part), []);
  });

  test('a device is a partition of a disk if its label, its number or its path says so', async () => {
    const host = machineWith(undefined);
    const byPath = (path: string) => ({ kind: 'path', path }) as const;
    const byId = (id: string) => ({ kind: 'id', id }) as const;
    const bySerial = (serial: string) => ({ kind: 'serial', serial }) as const;
    const labelled = (label: string) => ({ kind: 'partitionLabel', label }) as const;
    const isPending = async (whole: DeviceIdentity, by: DeviceIdentity, partition?: number): Promise<boolean> => {
      const partitions = [{ label: 'data', size: { kind: 'rest' }, type: 'linux' }] as const;
      const wanted = { ...disk, device: { ...device, by: whole }, partitions };
      return await willBePartitioned(host, [wanted], { by, partition, waitMs: 0 });
    };
    for (const [whole, by, partition] of [
      [byPath('/dev/sdb'), labelled('data'), undefined],
      [byPath('/dev/sdb'), byPath('/dev/sdb'), 1],
      [byPath('/dev/disk/by-id/x'), byId('x'), 1],
      [byPath('/dev/sdb'), byPath('/dev/sdb2'), undefined],
      [byPath('/dev/nvme0n1'), byPath('/dev/nvme0n1p10'), undefined],
      [byPath('/dev/disk/by-path/pci-0'), byPath('/dev/disk/by-path/pci-0-part1'), undefined],
      [byId('x'), byId('x-part1'), undefined],
      [bySerial('s'), bySerial('s'), 1],
    ] as const)
      assert.equal(await isPending(whole, by, partition), true, JSON.stringify([whole, by, partition]));
    for (const [whole, by, partition] of [
      [byPath('/dev/sdb'), labelled('other'), undefined],
      [byPath('/dev/sdb'), byPath('/dev/sdc'), 1],
      [byPath('/dev/sdb'), byPath('/dev/sdc1'), undefined],
      [byPath('/dev/sdb'), byPath('/dev/sdb'), undefined],
      [byPath('/dev/nvme0'), byPath('/dev/nvme0n1'), undefined],
      [byId('x'), bySerial('x'), 1],
      [bySerial('a'), bySerial('b'), 1],
      [bySerial('s'), byPath('/dev/sdb1'), undefined],
      [byPath('/dev/sdb'), bySerial('s'), undefined],
    ] as const)
      assert.equal(await isPending(whole, by, partition), false, JSON.stringify([whole, by, partition]));
  });
});
