import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DiskModel } from '@machineadm/document/model/index.ts';
import { disks } from '../../../../src/features/storage/disks.ts';
import type { Remark } from '../../../../src/step/abilities.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { hostModel } from '../../../support/host-model.ts';
import { diskModel, gpt, type MemoryDisk, machineWithDisk } from '../../../support/memory-disk.ts';
import type { MemoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const model = (...wanted: readonly DiskModel[]) =>
  hostModel({ storage: { disks: wanted, filesystems: [], mounts: [] } });
const PLACE = 'host.storage.disks[0]';
const growing = (size: DiskModel['partitions'][number]['size']): DiskModel =>
  diskModel({ partitions: [{ label: undefined, size, type: 'linux', grow: true }] });
const TWO: DiskModel = diskModel({
  partitions: [
    { label: 'etcd', size: { kind: 'bytes', bytes: 100 * 2 ** 20 }, type: 'linux' },
    { label: undefined, size: { kind: 'percent', percent: 25 }, type: 'linux' },
    { label: undefined, size: { kind: 'rest' }, type: 'linux' },
  ],
});

async function remarks(host: MemoryHost, disk: DiskModel): Promise<readonly Remark[]> {
  const desired = disks.desired(model(disk), (await import('../../../support/facts.ts')).facts()) ?? assert.fail();
  return disks.remarks?.(desired, EMPTY_RECORD, await disks.inspect(host, desired, EMPTY_RECORD)) ?? [];
}

async function unmet(disk: DiskModel, found: Partial<MemoryDisk>) {
  const { host } = machineWithDisk(found);
  const desired = { disks: [disk] };
  return (await disks.preflight?.(host, desired, EMPTY_RECORD)) ?? [];
}

describe('the plan of a disk', () => {
  const table: readonly (readonly [string, DiskModel, Partial<MemoryDisk>, string | undefined])[] = [
    ['that is blank is to partition it', diskModel(), {}, 'create a gpt table with the rest'],
    ['names each partition and its size', TWO, {}, 'create a gpt table with etcd 100 MiB, 25 %, the rest'],
    ['that has its table is nothing', diskModel(), { table: gpt(1024, [1, 1022]) }, undefined],
    [
      'whose table the kernel does not know is to let it read it',
      diskModel(),
      { table: gpt(1024, [1, 1022]), kernelReads: false },
      'let the kernel read the partition table',
    ],
    [
      'with another table says what is there',
      diskModel(),
      { table: gpt(1024, [1, 100], [101, 200]) },
      'holds a gpt table with partitions of 100 MiB, 200 MiB (2 partitions where 1 are asked for), and the document does not say "wipe"',
    ],
    [
      'with an empty table says so',
      diskModel({ wipe: true }),
      { table: gpt(1024) },
      'destroy an empty gpt table (0 partitions where 1 are asked for), create a gpt table with the rest',
    ],
    [
      'with one other partition says so',
      TWO,
      { table: gpt(1024, [1, 100]) },
      'holds a gpt table with a partition of 100 MiB (1 partition where 3 are asked for), and the document does not say "wipe"',
    ],
    [
      'with a file system names it',
      diskModel(),
      { contents: new Map([['/dev/sdb', { signatures: ['ext4'], type: 'ext4', label: 'data' }]]) },
      'holds ext4 with the label "data", and the document does not say "wipe"',
    ],
    [
      'with a table and something else is not decided by the table',
      diskModel(),
      { table: gpt(1024, [1, 1022]), contents: new Map([['/dev/sdb', { signatures: ['gpt', 'LVM2_member'] }]]) },
      'holds gpt and LVM2_member, and the document does not say "wipe"',
    ],
    [
      'that may be wiped and is used says by whom',
      diskModel({ wipe: true }),
      {
        contents: new Map([['/dev/sdb', { signatures: ['ext4'], type: 'ext4' }]]),
        mountpoint: '/srv',
        users: [
          { name: '/dev/sdb1', type: 'part', mountpoint: null },
          { name: '/dev/sdb2', type: 'part', mountpoint: '[SWAP]' },
          { name: '/dev/mapper/a', type: 'lvm', mountpoint: null },
        ],
      },
      'is in use: /dev/sdb is mounted on /srv; /dev/sdb2 is in use as swap; /dev/mapper/a (lvm) is built on it',
    ],
    [
      'that grew is to grow its last partition',
      growing({ kind: 'rest' }),
      { table: gpt(512, [1, 510]) },
      'grow partition 1 from 510 MiB to 1022 MiB, and keep its data',
    ],
    ['that grew keeps a partition that is not to grow', diskModel(), { table: gpt(512, [1, 510]) }, undefined],
    [
      'whose growing partition is not the last one on it says so',
      diskModel({
        partitions: [
          { label: undefined, size: { kind: 'bytes', bytes: 100 * 2 ** 20 }, type: 'linux' },
          { label: undefined, size: { kind: 'bytes', bytes: 50 * 2 ** 20 }, type: 'linux', grow: true },
        ],
      }),
      { table: gpt(1024, [101, 100], [1, 50]) },
      'another partition follows the one that is to grow',
    ],
  ];
  for (const [what, disk, found, summary] of table) {
    test(what, async () => {
      const { host } = machineWithDisk(found);
      const [change, ...more] = await planned(disks, host, model(disk));
      assert.deepEqual(more, []);
      assert.equal(change?.summary, summary === undefined ? undefined : `/dev/sdb: ${summary}`);
      if (change === undefined) return;
      assert.equal(change.action, summary?.startsWith('grow ') ? 'change' : 'add');
      assert.deepEqual(
        [change.id, change.scope, change.repeatable, change.ineffective],
        ['disks//dev/sdb', 'node', false, 'PartitioningFailed'],
      );
      assert.deepEqual(host.log, []);
    });
  }

  test('that is not there yet is what is done when it appears', async () => {
    const { host } = machineWithDisk();
    host.take('/dev/sdb');
    const [change] = await planned(disks, host, model(diskModel({ table: 'mbr' })));
    assert.equal(change?.summary, '/dev/sdb: when it appears: create a mbr table with the rest');
  });

  test('is none without disks', async () =>
    assert.deepEqual(await planned(disks, machineWithDisk().host, model()), []));
});

describe('a remark on a disk that grew', () => {
  test('says how much is behind its partitions', async () => {
    const { host } = machineWithDisk({ table: gpt(512, [1, 510]) });
    assert.deepEqual(await remarks(host, diskModel()), [
      '/dev/sdb grew: 512 MiB are behind its partitions; grow: true of the last one takes them',
    ]);
  });

  test('is none where it takes them, or did not grow', async () => {
    assert.deepEqual(await remarks(machineWithDisk({ table: gpt(512, [1, 510]) }).host, growing({ kind: 'rest' })), []);
    const half = diskModel({
      partitions: [{ label: undefined, size: { kind: 'percent', percent: 50 }, type: 'linux' }],
    });
    assert.deepEqual(await remarks(machineWithDisk({ table: gpt(1024, [1, 511]) }).host, half), []);
  });
});

describe('a disk', () => {
  test('is partitioned as the document says, once', async () => {
    const { host, inputs, disk } = machineWithDisk();
    const run = await runStep(disks, host, model(TWO));
    assert.deepEqual(run.left, []);
    const type = '0FC63DAF-8483-4772-8E79-3D69D8477DE4';
    assert.deepEqual(inputs, [
      `label: gpt\n\nstart=1MiB, size=100MiB, type=${type}, name="etcd"\nstart=101MiB, size=255MiB, type=${type}\nstart=356MiB, size=667MiB, type=${type}\n`,
    ]);
    assert.equal(disk.table?.partitions.length, 3);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run')),
      ['run sfdisk --quiet --wipe always --wipe-partitions never /dev/sdb'],
    );
    assert.deepEqual((await runStep(disks, host, model(TWO))).changes, []);
  });

  test('that may be wiped loses also what lies where its partitions come', async () => {
    const { host } = machineWithDisk({ contents: new Map([['/dev/sdb', { signatures: ['ext4'], type: 'ext4' }]]) });
    await runStep(disks, host, model(diskModel({ wipe: true, table: 'mbr' })));
    assert.ok(host.log.includes('run sfdisk --quiet --wipe always --wipe-partitions always /dev/sdb'));
  });

  test('whose table the kernel did not read is announced by partition', async () => {
    const { host } = machineWithDisk({ kernelReads: false });
    const run = await runStep(disks, host, model(diskModel()));
    assert.deepEqual(host.log.filter((line) => line.startsWith('run')).slice(1), ['run partx --update /dev/sdb']);
    assert.deepEqual([run.left, run.output], [[], []]);
  });

  test('that grew gets its last partition larger, and the kernel is informed', async () => {
    const { host, inputs, disk } = machineWithDisk({ table: gpt(512, [1, 100], [101, 410]) });
    const wanted = diskModel({
      partitions: [
        { label: undefined, size: { kind: 'bytes', bytes: 100 * 2 ** 20 }, type: 'linux' },
        { label: undefined, size: { kind: 'rest' }, type: 'linux', grow: true },
      ],
    });
    const run = await runStep(disks, host, model(wanted));
    assert.deepEqual(run.left, []);
    assert.deepEqual(
      disk.table?.partitions.map(({ startMib, sizeMib }) => [startMib, sizeMib]),
      [
        [1, 100],
        [101, 922],
      ],
    );
    assert.doesNotMatch(inputs.join(), /last-lba/);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run')),
      [
        'run sfdisk --dump /dev/sdb',
        'run sfdisk --quiet --no-reread --no-tell-kernel --force --wipe=never --wipe-partitions=never /dev/sdb',
        'run partx --update /dev/sdb',
      ],
    );
  });

  const failures: readonly (readonly [string, DiskModel, Partial<MemoryDisk>, string, RegExp])[] = [
    [
      'that does not appear',
      diskModel({ device: { by: { kind: 'path', path: '/dev/sdc' }, partition: undefined, waitMs: 0 } }),
      {},
      'DeviceMissing',
      /The device \/dev\/sdc \(host\.storage\.disks\[0\]\.device\) did not appear within 0 ms/,
    ],
    [
      'that is not empty',
      diskModel(),
      { contents: new Map([['/dev/sdb', { signatures: ['crypto_LUKS'], type: 'crypto_LUKS' }]]) },
      'DiskNotEmpty',
      /\/dev\/sdb \(host\.storage\.disks\[0\]\) is not empty: it holds crypto_LUKS\. Nothing on it was changed\./,
    ],
    ['that is used', diskModel(), { mountpoint: '/srv' }, 'DeviceBusy', /is mounted on \/srv/],
    ['that is too small', TWO, { sizeMib: 50 }, 'DiskTooSmall', /do not fit on \/dev\/sdb, which has room for 48 MiB/],
    [
      'that sfdisk finds busy',
      diskModel(),
      { answers: new Map([['sfdisk', { status: 1, stderr: 'first\nThis disk is currently in use\n' }]]) },
      'DeviceBusy',
      /is not written to: This disk is currently in use/,
    ],
    [
      'that sfdisk cannot write',
      diskModel(),
      { answers: new Map([['sfdisk', { status: 1, stderr: 'first\nInput/output error\n' }]]) },
      'PartitioningFailed',
      /The partition table could not be written: \/dev\/sdb \(host\.storage\.disks\[0\]\)/,
    ],
    [
      'whose partitions the kernel never shows',
      diskModel(),
      { kernelReads: false, answers: new Map([['partx', { status: 1, stderr: 'a\npartx: no\n' }]]) },
      'PartitioningFailed',
      /The kernel does not show the new partitions: \/dev\/sdb/,
    ],
    [
      'that cannot be read',
      diskModel(),
      { answers: new Map([['wipefs', { status: 1, stderr: 'wipefs: I/O error' }]]) },
      'HostStepFailed',
      /\/dev\/sdb could not be read to detect its contents/,
    ],
  ];
  for (const [what, disk, found, reason, message] of failures) {
    test(`${what} is refused, and nothing else is done`, async () => {
      const { host } = machineWithDisk(found);
      await assert.rejects(runStep(disks, host, model(disk)), { reason, message });
      const isTried = found.answers !== undefined && !found.answers.has('wipefs');
      assert.equal(host.log.length > 0, isTried);
    });
  }
});

describe('before a run, a disk', () => {
  test('needs the tools of partitions', async () => {
    const found = await unmet(diskModel(), { missing: ['sfdisk', 'partx'] });
    assert.deepEqual(
      found.map(({ reason, what, remedy }) => [reason, what, remedy]),
      [
        [
          'StorageToolMissing',
          'sfdisk is not installed',
          'Install fdisk (Debian, Ubuntu) or util-linux, preferably in the image.',
        ],
        ['StorageToolMissing', 'partx is not installed', 'Install util-linux, preferably in the image.'],
      ],
    );
    for (const tool of ['wipefs', 'blkid', 'lsblk'])
      assert.deepEqual(
        (await unmet(diskModel(), { missing: [tool] })).map(({ what }) => what),
        [`${tool} is not installed`],
      );
  });

  test('that will not do is reported with its field', async () => {
    const told = async (disk: DiskModel, found: Partial<MemoryDisk>) =>
      (await unmet(disk, found)).map(({ reason, field, scope }) => [reason, field, scope]);
    assert.deepEqual(await told(diskModel(), {}), []);
    assert.deepEqual(await told(diskModel(), { table: gpt(1024, [1, 1022]) }), []);
    assert.deepEqual(await told(TWO, { sizeMib: 50 }), [['DiskTooSmall', PLACE, 'node']]);
    assert.deepEqual(await told(diskModel(), { table: gpt(1024) }), [['DiskNotEmpty', PLACE, 'node']]);
    assert.deepEqual(await told(diskModel(), { mountpoint: '/srv' }), [['DeviceBusy', PLACE, 'node']]);
  });

  test('that is absent is a warning, because a run waits for it, and a failure where the document says not to wait', async () => {
    const { host } = machineWithDisk();
    host.take('/dev/sdb');
    const absent = async (waitMs: number) => {
      const disk = { ...diskModel(), device: { ...diskModel().device, waitMs } };
      const [found, ...more] = (await disks.preflight?.(host, { disks: [disk] }, EMPTY_RECORD)) ?? [];
      assert.deepEqual(more, []);
      return found;
    };
    const late = await absent(60_000);
    assert.deepEqual([late?.reason, late?.severity, late?.field], ['DeviceMissing', 'warning', `${PLACE}.device`]);
    assert.equal(
      late?.what,
      `the device /dev/sdb (${PLACE}.device) does not exist now; provision waits 1 m 00 s for it, and then fails`,
    );
    const now = await absent(0);
    assert.deepEqual([now?.reason, now?.severity], ['DeviceMissing', undefined]);
  });
});
