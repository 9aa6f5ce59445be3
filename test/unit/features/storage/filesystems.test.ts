import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DiskModel, FilesystemModel } from '@machineadm/document/model/index.ts';
import { type FormatNote, filesystems } from '../../../../src/features/storage/filesystems.ts';
import type { Remark } from '../../../../src/step/abilities.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import {
  diskModel,
  filesystemModel,
  gpt,
  type MemoryDisk,
  machineWithDisk,
  type OnDevice,
  SDB,
} from '../../../support/memory-disk.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const ID = 'filesystems//dev/sdb';
const PLACE = 'host.storage.filesystems[0]';
const DATA: OnDevice = { signatures: ['xfs'], type: 'xfs', label: 'data', uuid: 'A-1' };

const model = (wanted: readonly FilesystemModel[], disks: readonly DiskModel[] = []) =>
  hostModel({ storage: { disks, filesystems: wanted, mounts: [] } });
const holding = (there: OnDevice): Partial<MemoryDisk> => ({ contents: new Map([['/dev/sdb', there]]), sizeMib: 512 });
const noted = (note: unknown, id = ID): StepRecord => ({ ...EMPTY_RECORD, notes: new Map([[id, note]]) });

async function remarks(wanted: FilesystemModel, found: Partial<MemoryDisk>): Promise<readonly Remark[]> {
  const { host } = machineWithDisk(found);
  const desired = filesystems.desired(model([wanted]), facts()) ?? assert.fail();
  return filesystems.remarks?.(desired, EMPTY_RECORD, await filesystems.inspect(host, desired, EMPTY_RECORD)) ?? [];
}

async function unmet(wanted: FilesystemModel, found: Partial<MemoryDisk>, disks: readonly DiskModel[] = []) {
  const desired = { filesystems: [wanted], disks };
  return (await filesystems.preflight?.(machineWithDisk(found).host, desired, EMPTY_RECORD)) ?? [];
}

describe('the plan of a file system', () => {
  const table: readonly (readonly [
    string,
    Partial<FilesystemModel>,
    Partial<MemoryDisk>,
    unknown,
    string | undefined,
  ])[] = [
    ['on a blank device is to make it', {}, {}, undefined, 'make ext4'],
    ['with a label names it', { type: 'xfs', label: 'images' }, {}, undefined, 'make xfs with the label "images"'],
    ['that is there is nothing', { type: 'xfs' }, holding(DATA), undefined, undefined],
    ['that is there with its label is nothing', { type: 'xfs', label: 'data' }, holding(DATA), undefined, undefined],
    [
      'of another label is refused',
      { type: 'xfs', label: 'images' },
      holding(DATA),
      undefined,
      'holds xfs with the label "data", and the document does not permit to format it',
    ],
    [
      'of another type is refused',
      {},
      holding(DATA),
      undefined,
      'holds xfs with the label "data", and the document does not permit to format it',
    ],
    [
      'beside another signature is refused',
      { type: 'xfs' },
      holding({ ...DATA, signatures: ['xfs', 'LVM2_member'] }),
      undefined,
      'holds xfs with the label "data", and the document does not permit to format it',
    ],
    [
      'that may be overwritten says what goes',
      { overwrite: true },
      holding(DATA),
      undefined,
      'destroy xfs with the label "data", make ext4',
    ],
    [
      'whose type may be replaced says what goes',
      { replace: ['xfs'] },
      holding(DATA),
      undefined,
      'destroy xfs with the label "data", make ext4',
    ],
    [
      'whose other type may be replaced is refused',
      { replace: ['btrfs'] },
      holding(DATA),
      undefined,
      'holds xfs with the label "data", and the document does not permit to format it',
    ],
    [
      'only part of which may be replaced is refused',
      { replace: ['xfs'] },
      holding({ signatures: ['xfs', 'dos'] }),
      undefined,
      'holds xfs and dos, and the document does not permit to format it',
    ],
    [
      'that this instance made is not overwritten again',
      { type: 'xfs', overwrite: true },
      holding(DATA),
      { uuid: 'a-1', made: true },
      undefined,
    ],
    [
      'that another instance made is overwritten',
      { type: 'xfs', overwrite: true },
      holding(DATA),
      { uuid: 'b-2', made: true },
      'destroy xfs with the label "data", make xfs',
    ],
    [
      'that was replaced by this instance is not replaced again',
      { type: 'xfs', label: 'new', replace: ['xfs'] },
      holding(DATA),
      { uuid: 'a-1', made: true },
      'holds xfs with the label "data", and the document does not permit to format it',
    ],
    [
      'of a killed run is made again',
      { type: 'xfs', label: 'new' },
      holding(DATA),
      { uuid: 'a-1', made: false },
      'make xfs with the label "new" again: an earlier run was killed during it',
    ],
    [
      'is not known by a damaged note',
      { type: 'xfs', overwrite: true },
      holding(DATA),
      { uuid: 'a-1', made: 'yes' },
      'destroy xfs with the label "data", make xfs',
    ],
    [
      'is not known by half a note',
      { type: 'xfs', overwrite: true },
      holding(DATA),
      { made: true },
      'destroy xfs with the label "data", make xfs',
    ],
    [
      'is not known by a note that is none',
      { type: 'xfs', overwrite: true },
      holding(DATA),
      'a-1',
      'destroy xfs with the label "data", make xfs',
    ],
    [
      'on a device in use says by whom',
      { overwrite: true },
      { ...holding(DATA), mountpoint: '/srv' },
      undefined,
      'is in use: /dev/sdb is mounted on /srv',
    ],
  ];
  for (const [what, different, found, note, summary] of table) {
    test(what, async () => {
      const { host } = machineWithDisk(found);
      const record = note === undefined ? EMPTY_RECORD : noted(note);
      const [change, ...more] = await planned(filesystems, host, model([filesystemModel(different)]), { record });
      assert.deepEqual(more, []);
      assert.equal(change?.summary, summary === undefined ? undefined : `/dev/sdb: ${summary}`);
      if (change === undefined) return;
      assert.deepEqual(
        [change.id, change.action, change.scope, change.repeatable, change.ineffective, change.knownAfter],
        [ID, 'add', 'node', false, 'FilesystemNotMade', undefined],
      );
    });
  }

  test('on a disk that is not partitioned yet is known after that', async () => {
    const partition = filesystemModel({ device: { ...SDB, partition: 1 } });
    const [change] = await planned(filesystems, machineWithDisk().host, model([partition], [diskModel()]));
    assert.deepEqual([change?.summary, change?.knownAfter], ['/dev/sdb, partition 1: make ext4', 'disks']);
    const without = { ...SDB, by: { kind: 'path', path: '/dev/sdc' } } as const;
    const [later] = await planned(filesystems, machineWithDisk().host, model([filesystemModel({ device: without })]));
    assert.deepEqual([later?.summary, later?.knownAfter], ['/dev/sdc: make ext4', undefined]);
  });

  test('is none without file systems', async () => {
    assert.deepEqual(await planned(filesystems, machineWithDisk().host, model([])), []);
  });
});

describe('a file system on a larger device', () => {
  const EXT4: OnDevice = { signatures: ['ext4'], type: 'ext4', uuid: 'a' };
  const larger = { contents: new Map([['/dev/sdb', EXT4]]), sizeMib: 1024 };

  test('grows where the document says so, and is mounted for it', async () => {
    const { host, disk } = machineWithDisk(larger);
    const wanted = model([filesystemModel({ grow: true })]);
    const [change] = await planned(filesystems, host, wanted);
    assert.deepEqual(
      [change?.id, change?.action, change?.summary, change?.ineffective, change?.knownAfter],
      [
        `${ID}/grow`,
        'change',
        '/dev/sdb: grow ext4 from 512 MiB to 1024 MiB, and keep its data',
        'GrowthFailed',
        undefined,
      ],
    );
    disk.answers.set('resize2fs', {});
    await runStep(filesystems, host, wanted);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run')),
      [
        'run mount -t ext4 --source /dev/sdb --target /run/machineadm/growing',
        'run resize2fs /dev/sdb',
        'run umount /run/machineadm/growing',
      ],
    );
  });

  test('is remarked where the document does not say so', async () => {
    assert.deepEqual(await remarks(filesystemModel(), larger), [
      '/dev/sdb is larger than its file system (from 512 MiB to 1024 MiB); host.storage.filesystems[0].grow: true makes that as large',
    ]);
    assert.deepEqual(await remarks(filesystemModel({ grow: true }), larger), []);
    assert.deepEqual(await remarks(filesystemModel(), { ...larger, sizeMib: 512 }), []);
  });

  test('that became smaller is refused', async () => {
    const { host } = machineWithDisk({ ...larger, sizeMib: 256 });
    const wanted = model([filesystemModel({ grow: true })]);
    const [change] = await planned(filesystems, host, wanted);
    assert.equal(change?.summary, '/dev/sdb: does not grow: its device is smaller than the file system');
    await assert.rejects(runStep(filesystems, host, wanted), {
      reason: 'GrowthFailed',
      message: /its device became smaller \(from 512 MiB to 256 MiB\)/,
    });
    assert.deepEqual(host.log, []);
  });

  test('grows with its partition, after it', async () => {
    const partitions: DiskModel['partitions'] = [
      { label: undefined, size: { kind: 'rest' }, type: 'linux', grow: true },
    ];
    const wanted = filesystemModel({ device: { ...SDB, partition: 1 }, grow: true });
    const { host } = machineWithDisk({
      table: gpt(512, [1, 510]),
      contents: new Map<string, OnDevice>([
        ['/dev/sdb', { signatures: ['gpt', 'PMBR'] }],
        ['/dev/sdb1', EXT4],
      ]),
    });
    const [change] = await planned(filesystems, host, model([wanted], [diskModel({ partitions })]));
    assert.deepEqual(
      [change?.summary, change?.knownAfter],
      ['/dev/sdb, partition 1: grow ext4 with its partition, and keep its data', 'disks'],
    );
    const [alone] = await planned(filesystems, host, model([{ ...wanted, grow: true }], [diskModel()]));
    assert.equal(alone?.knownAfter, undefined);
  });
});

describe('a file system', () => {
  test('is made with an identity that is noted before and after, and then nothing is left to do', async () => {
    const { host, disk } = machineWithDisk();
    const seen: FormatNote[] = [];
    const notes = new Map<string, unknown>();
    notes.set = (id, note) => {
      seen.push(note as FormatNote);
      return Map.prototype.set.call(notes, id, note) as typeof notes;
    };
    const wanted = model([filesystemModel({ label: 'images', options: ['-m', '0'] })]);
    const run = await runStep(filesystems, host, wanted, { seen: { notes, warnings: [] } });
    assert.deepEqual(run.left, []);
    const uuid = disk.contents.get('/dev/sdb')?.uuid ?? '';
    assert.match(uuid, /^[0-9a-f-]{36}$/);
    assert.deepEqual(seen, [
      { uuid, made: false },
      { uuid, made: true },
    ]);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run')),
      [`run mkfs.ext4 -q -U ${uuid} -L images -m 0 /dev/sdb`],
    );
    assert.deepEqual(run.waits, [undefined, 'mkfs.ext4 on /dev/sdb', undefined]);
    assert.ok(host.queries.includes('udevadm settle --timeout=30'));
  });

  test('of an identity that the document chooses is noted when it is made', async () => {
    const { host } = machineWithDisk();
    const run = await runStep(filesystems, host, model([filesystemModel({ options: ['-U', 'ABC'] })]));
    assert.deepEqual([...run.notes.values()], [{ uuid: 'abc', made: true }]);
  });

  test('in place of another loses all that was there first', async () => {
    const { host } = machineWithDisk(holding(DATA));
    await runStep(filesystems, host, model([filesystemModel({ overwrite: true })]));
    const ran = host.log.filter((line) => line.startsWith('run'));
    assert.deepEqual([ran[0], ran[1]?.split(' ')[1], ran.length], ['run wipefs --all /dev/sdb', 'mkfs.ext4', 2]);
  });

  const failures: readonly (readonly [string, Partial<FilesystemModel>, Partial<MemoryDisk>, object])[] = [
    [
      'on other data',
      {},
      holding(DATA),
      {
        reason: 'FilesystemDiffers',
        message:
          '/dev/sdb (host.storage.filesystems[0]) holds xfs with the label "data", not ext4. Nothing on it was changed.',
        remedy:
          'Name the right device. If its contents may be destroyed, set host.storage.filesystems[0].overwrite to true, or host.storage.filesystems[0].replace to [xfs].',
      },
    ],
    [
      'of another label',
      { type: 'xfs', label: 'new' },
      holding(DATA),
      {
        reason: 'FilesystemDiffers',
        remedy:
          'To keep it, set host.storage.filesystems[0].label to "data" or relabel the device (xfs_admin -L new /dev/sdb). If its contents may be destroyed, set host.storage.filesystems[0].overwrite to true, or host.storage.filesystems[0].replace to [xfs].',
      },
    ],
    ['on a device in use', {}, { mountpoint: '/srv' }, { reason: 'DeviceBusy', message: /is mounted on \/srv/ }],
    [
      'that mkfs finds busy',
      {},
      {
        answers: new Map([
          ['mkfs.ext4', { status: 1, stderr: '\n  /dev/sdb is mounted; will not make a file system\n' }],
        ]),
      },
      { reason: 'DeviceBusy', message: /not written to: \/dev\/sdb is mounted; will not make a file system/ },
    ],
    [
      'that mkfs cannot make',
      {},
      { answers: new Map([['mkfs.ext4', { status: 3, stderr: 'one\n\ntwo\n', stdout: 'three\nfour\nfive\nsix\n' }]]) },
      {
        reason: 'FilesystemNotMade',
        message: 'mkfs.ext4 failed on /dev/sdb (host.storage.filesystems[0]) with status 3.',
        retryable: true,
        evidence: ['one', 'two', 'three', 'four', 'five'].map((text) => ({ source: 'mkfs.ext4', text })),
      },
    ],
  ];
  for (const [what, different, found, error] of failures) {
    test(`${what} is refused`, async () => {
      const { host } = machineWithDisk(found);
      await assert.rejects(runStep(filesystems, host, model([filesystemModel(different)])), error);
      assert.equal(host.log.length > 0, found.answers !== undefined);
    });
  }
});

describe('before a run, a file system', () => {
  test('needs its tools, and those of its growth', async () => {
    const tools = ['wipefs', 'blkid', 'lsblk', 'mkfs.ext4', 'dumpe2fs', 'resize2fs', 'mount', 'umount'];
    const missing = async (grow?: true) =>
      (await unmet(filesystemModel(grow === undefined ? {} : { grow }), { missing: tools })).map(
        ({ what }) => what.split(' ')[0],
      );
    assert.deepEqual(await missing(), tools.slice(0, 4));
    assert.deepEqual(await missing(true), tools);
  });

  test('on other data is refused, but not where a disk is partitioned first', async () => {
    const found = await unmet(filesystemModel(), holding(DATA));
    assert.deepEqual(
      found.map(({ reason, scope, what }) => [reason, scope, what.includes(PLACE)]),
      [['FilesystemDiffers', 'node', true]],
    );
    const other = await unmet(filesystemModel({ type: 'xfs', label: 'new' }), holding(DATA));
    assert.deepEqual(
      other.map(({ reason }) => reason),
      ['FilesystemDiffers'],
    );
    assert.deepEqual(await unmet(filesystemModel(), {}), []);
    const partition = filesystemModel({ device: { ...SDB, partition: 1 } });
    assert.deepEqual(await unmet(partition, { table: gpt(1024, [1, 100]) }, [diskModel()]), []);
    const absent = filesystemModel({ device: { ...SDB, waitMs: 1000, by: { kind: 'path', path: '/dev/sdc' } } });
    const [lacks] = await unmet(absent, {});
    assert.deepEqual([lacks?.reason, lacks?.severity], ['DeviceMissing', 'warning']);
  });
});
