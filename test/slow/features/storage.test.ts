import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { DeviceMount, DiskModel, FilesystemModel, StorageModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../src/features/storage/disks.ts';
import { filesystems } from '../../../src/features/storage/filesystems.ts';
import { mounts } from '../../../src/features/storage/mounts.ts';
import { openHost } from '../../../src/host/index.ts';
import type { Step } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { at, loopDevice, partitionCommand } from '../../support/loop-device.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep, type StepRunOptions } from '../../support/run-step.ts';

const MIB = 2 ** 20;

const sh = (command: string): string => execFileSync('sh', ['-ec', command], { encoding: 'utf8' });
const ids = (changes: readonly { readonly id: string }[]): string[] => changes.map(({ id }) => id);

const disk = (path: string, different: Partial<DiskModel> = {}): DiskModel => ({
  device: at(path),
  table: 'gpt',
  wipe: false,
  partitions: [
    { label: 'etcd', size: { kind: 'bytes', bytes: 64 * MIB }, type: 'linux' },
    { label: undefined, size: { kind: 'percent', percent: 25 }, type: 'swap' },
    { label: 'data', size: { kind: 'rest' }, type: 'lvm' },
  ],
  ...different,
});

const filesystem = (path: string, different: Partial<FilesystemModel> = {}): FilesystemModel => ({
  device: at(path),
  type: 'ext4',
  label: undefined,
  options: [],
  overwrite: false,
  replace: [],
  ...different,
});

const mount = (device: string, path: string, different: Partial<DeviceMount> = {}): DeviceMount => ({
  device: at(device),
  path,
  type: undefined,
  options: [],
  ...different,
});

const storage = (part: Partial<StorageModel>) =>
  hostModel({ storage: { disks: [], filesystems: [], mounts: [], ...part } });

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });
  const withoutSystemd = { facts: facts({ serviceManager: 'none' }) };

  /** Applies a step, and asserts that verify and a second run, with the journal's notes, find nothing to do. */
  async function runTwice<D, A, P>(step: Step<D, A, P>, part: Partial<StorageModel>, options: StepRunOptions = {}) {
    const run = await runStep(step, host, storage(part), { ...withoutSystemd, ...options });
    assert.deepEqual(run.left, []);
    return run;
  }

  const run = <D, A, P>(step: Step<D, A, P>, part: Partial<StorageModel>) =>
    runStep(step, host, storage(part), withoutSystemd);

  describe('disks', () => {
    for (const table of ['gpt', 'mbr'] as const) {
      test(`a blank disk gets its ${table} table, and the kernel shows the partitions`, async () => {
        using loop = loopDevice(300);
        const wanted = disk(loop.path, { table });
        const partitions =
          table === 'gpt' ? wanted.partitions : wanted.partitions.map((p) => ({ ...p, label: undefined }));
        const part = { disks: [{ ...wanted, partitions }] };
        assert.deepEqual(ids((await runTwice(disks, part)).changes), [`disks/${loop.path}`]);
        assert.deepEqual(await planned(disks, host, storage(part)), []);
        const listed = sh(`sfdisk --json ${loop.path}`);
        assert.match(listed, table === 'gpt' ? /E6D6D379-F507-44C2-A23C-238F2A3DF928/ : /"type": "8e"/);
        for (const number of [1, 2, 3]) assert.ok(existsSync(loop.partition(number)), `partition ${number}`);
      });
    }

    test('a table of another tool with rounding of its own is the same layout', async () => {
      using loop = loopDevice(300);
      sh(
        partitionCommand(
          loop.path,
          'label: gpt\\n\\nsize=131000, name=etcd\\nsize=152500, type=S\\ntype=V, name=data\\n',
        ),
      );
      assert.deepEqual(await planned(disks, host, storage({ disks: [disk(loop.path)] })), []);
    });

    test('a disk that grew keeps its layout', async () => {
      using loop = loopDevice(300);
      await runTwice(disks, { disks: [disk(loop.path)] });
      sh(`truncate -s 600M "$(losetup -n -O BACK-FILE ${loop.path})" && losetup -c ${loop.path}`);
      assert.deepEqual(await planned(disks, host, storage({ disks: [disk(loop.path)] })), []);
    });

    test('a killed run that wrote the table before the kernel knew: the next one lets the kernel read it', async () => {
      using loop = loopDevice(300);
      await runTwice(disks, { disks: [disk(loop.path)] });
      sh(`partx -d ${loop.path}`);
      const again = await runTwice(disks, { disks: [disk(loop.path)] });
      assert.match(again.changes[0]?.summary ?? '', /let the kernel read/);
      assert.ok(existsSync(loop.partition(3)));
    });

    test('a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again', async () => {
      using loop = loopDevice(300);
      sh(`${partitionCommand(loop.path, 'label: gpt\\n\\nstart=1MiB\\n')}; mkfs.ext4 -q ${loop.partition(1)}`);
      const before = sh(`sfdisk -d ${loop.path}`);
      await assert.rejects(run(disks, { disks: [disk(loop.path)] }), {
        reason: 'DiskNotEmpty',
        message: /1 partition where 3/,
      });
      assert.equal(sh(`sfdisk -d ${loop.path}`), before);
      await runTwice(disks, { disks: [disk(loop.path, { wipe: true })] });
      assert.equal(sh(`wipefs -p ${loop.partition(1)}`), '', 'what lay in the old partition is gone, too');
    });

    test('a file system on the whole disk counts as used', async () => {
      using loop = loopDevice(300);
      sh(`mkfs.ext4 -q -L precious ${loop.path}`);
      await assert.rejects(run(disks, { disks: [disk(loop.path)] }), {
        reason: 'DiskNotEmpty',
        message: /ext4 with the label "precious"/,
      });
      await runTwice(disks, { disks: [disk(loop.path, { wipe: true })] });
    });

    test('a mounted disk is DeviceBusy even with wipe', async () => {
      using loop = loopDevice(300);
      sh(`mkfs.ext4 -q ${loop.path} && mkdir -p /srv/busy && mount ${loop.path} /srv/busy`);
      await assert.rejects(run(disks, { disks: [disk(loop.path, { wipe: true })] }), {
        reason: 'DeviceBusy',
        message: /mounted on \/srv\/busy/,
      });
    });

    test('partitions that do not fit are DiskTooSmall', async () => {
      using loop = loopDevice(32);
      await assert.rejects(run(disks, { disks: [disk(loop.path)] }), { reason: 'DiskTooSmall' });
    });

    test('a disk that does not appear is DeviceMissing, with the path that the run waited for', async () => {
      const model = storage({
        disks: [{ ...disk('/dev/no-such-disk'), device: { ...at('/dev/no-such-disk'), waitMs: 10 } }],
      });
      await assert.rejects(runStep(disks, host, model), { reason: 'DeviceMissing', retryable: true });
    });
  });

  describe('filesystems', () => {
    for (const [type, size] of [
      ['ext4', 64],
      ['xfs', 320],
      ['btrfs', 128],
      ['vfat', 64],
      ['swap', 64],
    ] as const) {
      const label = type === 'vfat' ? 'LAB' : 'lab';
      test(`${type} is made with its label, and a second run reuses it`, {
        skip: type !== 'swap' && needs(`mkfs.${type}`),
      }, async () => {
        using loop = loopDevice(size);
        const part = { filesystems: [filesystem(loop.path, { type, label })] };
        assert.deepEqual(ids((await runTwice(filesystems, part)).changes), [`filesystems/${loop.path}`]);
        const uuid = sh(`blkid -p -s UUID -o value ${loop.path}`);
        assert.deepEqual((await run(filesystems, part)).changes, [], 'reused without the journal, too');
        assert.equal(sh(`blkid -p -s UUID -o value ${loop.path}`), uuid);
        assert.equal(sh(`blkid -p -s LABEL -o value ${loop.path}`).trim(), label);
      });
    }

    test('a partial file system of a killed mkfs is made again; the same of another tool is not', async () => {
      using loop = loopDevice(64);
      const model = storage({ filesystems: [filesystem(loop.path, { label: 'etcd' })] });
      const uuid = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
      sh(`mkfs.ext4 -q -U ${uuid} ${loop.path}`);
      await assert.rejects(runStep(filesystems, host, model), {
        reason: 'FilesystemDiffers',
        message: /ext4, not ext4 with the label "etcd"/,
      });
      const id = `filesystems/${loop.path}`;
      const record = { ...(await import('../../../src/step/index.ts')).EMPTY_RECORD, interrupted: new Set([id]) };
      const killed = { ...record, notes: new Map([[id, { uuid, made: false }]]) };
      const again = await runStep(filesystems, host, model, { record: killed });
      assert.match(again.changes[0]?.summary ?? '', /again: an earlier run was killed during it/);
      assert.deepEqual(again.left, []);
    });

    test('a mkfs that fails is FilesystemNotMade, with its output', async () => {
      using loop = loopDevice(64);
      const part = { filesystems: [filesystem(loop.path, { options: ['-b', '3'] })] };
      await assert.rejects(run(filesystems, part), { reason: 'FilesystemNotMade' });
    });

    test('a device that another process holds open exclusively is DeviceBusy', async () => {
      using loop = loopDevice(64);
      sh(`mkfs.ext4 -q ${loop.path} && mkdir -p /srv/busy2 && mount ${loop.path} /srv/busy2`);
      const part = { filesystems: [filesystem(loop.path, { type: 'xfs', overwrite: true })] };
      await assert.rejects(run(filesystems, part), { reason: 'DeviceBusy' });
      assert.match(sh(`blkid -p ${loop.path}`), /ext4/);
    });
  });

  describe('mounts', () => {
    test('by depth, now and in fstab, whose other lines stay byte for byte', async () => {
      using outer = loopDevice(64);
      using inner = loopDevice(64);
      sh(`mkfs.ext4 -q -L outer ${outer.path} && mkfs.ext4 -q ${inner.path}`);
      const before = '# by hand\n/dev/vda\t/ ext4 defaults 0 1';
      writeFileSync('/etc/fstab', before);
      const part = {
        mounts: [
          mount(inner.path, '/srv/deep/a b/inner', { options: ['noatime', 'nodev'] }),
          {
            ...mount('', '/srv/deep', { type: 'ext4' }),
            device: { by: { kind: 'label', label: 'outer' }, partition: undefined, waitMs: 0 },
          },
        ] as const,
      };
      const { changes } = await runTwice(mounts, part);
      assert.deepEqual(ids(changes), ['mounts//srv/deep', 'mounts//srv/deep/a b/inner']);
      assert.match(
        sh(`findmnt -n -o SOURCE,OPTIONS -M '/srv/deep/a b/inner'`),
        new RegExp(`^${inner.path} .*nodev,noatime`),
      );
      const fstab = readFileSync('/etc/fstab', 'utf8');
      assert.ok(fstab.startsWith(`${before}\n# Written by machineadm: /srv/deep\nUUID=`), fstab);
      assert.match(
        fstab,
        /\nUUID=\S+ \/srv\/deep\/a\\040b\/inner ext4 noatime,nodev,nofail,x-systemd.device-timeout=90s,/,
      );
      sh(`umount '/srv/deep/a b/inner' && mount '/srv/deep/a b/inner'`); // the next boot
      assert.deepEqual((await run(mounts, part)).changes, []);
      sh(`mount -o remount,atime,relatime '/srv/deep/a b/inner'`);
      assert.match((await runTwice(mounts, part)).changes[0]?.summary ?? '', /remount/);
    });

    test('something else on the mount point is MountConflict', async () => {
      using loop = loopDevice(64);
      sh(`mkfs.ext4 -q ${loop.path}; mkdir -p /srv/taken; mount -t tmpfs none /srv/taken`);
      await assert.rejects(run(mounts, { mounts: [mount(loop.path, '/srv/taken')] }), {
        reason: 'MountConflict',
        message: /tmpfs/,
      });
    });

    test('a mount point that hides files is warned of', async () => {
      using loop = loopDevice(64);
      sh(`mkfs.ext4 -q ${loop.path}; mkdir -p /srv/full; touch /srv/full/kept`);
      const { warnings } = await runTwice(mounts, { mounts: [mount(loop.path, '/srv/full')] });
      assert.deepEqual(warnings, ['/srv/full held kept: the mount hides that']);
    });

    test('options that the file system refuses are MountFailed', async () => {
      using loop = loopDevice(64);
      sh(`mkfs.ext4 -q ${loop.path}`);
      const part = { mounts: [mount(loop.path, '/srv/bad', { options: ['no-such-option=1'] })] };
      await assert.rejects(run(mounts, part), { reason: 'MountFailed' });
    });

    test('a device without a file system is MountFailed', async () => {
      using loop = loopDevice(64);
      await assert.rejects(run(mounts, { mounts: [mount(loop.path, '/srv/none')] }), {
        reason: 'MountFailed',
        message: /no file system/,
      });
    });

    for (const type of ['xfs', 'btrfs'] as const) {
      test(`a whole chain: partition, ${type}, mount`, { skip: needs(`mkfs.${type}`) }, async () => {
        using loop = loopDevice(400);
        const partitions = [{ label: 'data', size: { kind: 'rest' }, type: 'linux' }] as const;
        const part = {
          disks: [disk(loop.path, { partitions })],
          filesystems: [{ ...filesystem(loop.path, { type, label: 'vol' }), device: at(loop.path, 1) }],
          mounts: [{ ...mount(loop.path, `/srv/chain-${type}`), device: at(loop.path, 1) }],
        };
        const known = async (step: Step) =>
          (await planned(step, host, storage(part))).map((change) => change.knownAfter);
        assert.deepEqual([await known(filesystems), await known(mounts)], [['disks'], ['filesystems']]);
        await runTwice(disks, part);
        await runTwice(filesystems, part);
        await runTwice(mounts, part);
        assert.equal(sh(`findmnt -n -o FSTYPE -M /srv/chain-${type}`).trim(), type);
      });
    }
  });
}, ['sfdisk', 'mkfs.ext4', 'loop devices']);
