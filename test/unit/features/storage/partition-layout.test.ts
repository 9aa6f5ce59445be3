import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DiskModel, PartitionModel } from '@machineadm/document/model/index.ts';
import {
  type PartitionTable,
  placePartitions,
  sfdiskScript,
  spaceFor,
  tableDifference,
} from '../../../../src/features/storage/partition-layout.ts';
import { parsePartitionTable, readPartitionTable } from '../../../../src/features/storage/partition-table.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

const bytes = (amount: number): PartitionModel['size'] => ({ kind: 'bytes', bytes: amount });
const percent = (amount: number): PartitionModel['size'] => ({ kind: 'percent', percent: amount });
const rest: PartitionModel['size'] = { kind: 'rest' };

function disk(sizes: readonly PartitionModel['size'][], different: Partial<DiskModel> = {}): DiskModel {
  return {
    device: { by: { kind: 'path', path: '/dev/sdb' }, partition: undefined, waitMs: 0 },
    table: 'gpt',
    wipe: false,
    partitions: sizes.map((size) => ({ label: undefined, size, type: 'linux' })),
    ...different,
  };
}

describe('a layout', () => {
  test('is aligned to 1 MiB and leaves room for both tables of GPT', () => {
    const laid = placePartitions(disk([bytes(20 * GIB + 1), percent(50), rest]), 100 * GIB);
    assert.deepEqual(
      laid?.map(({ startMib, sizeMib }) => [startMib, sizeMib]),
      [
        [1, 20480],
        [20481, 51199],
        [71680, 30719],
      ],
    );
    assert.equal(spaceFor('gpt', 100 * GIB), 102398);
  });

  test('gives Rest what the others leave, wherever it stands', () => {
    const laid = placePartitions(disk([rest, bytes(10 * MIB)]), 100 * MIB);
    assert.deepEqual(
      laid?.map(({ sizeMib }) => sizeMib),
      [88, 10],
    );
  });

  test('of an mbr table ends at 2 TiB', () => {
    const laid = placePartitions(disk([rest], { table: 'mbr' }), 3 * 2 ** 40);
    assert.deepEqual(
      laid?.map(({ sizeMib }) => sizeMib),
      [2 ** 21 - 1],
    );
  });

  test('that does not fit is none', () => {
    assert.equal(placePartitions(disk([bytes(99 * MIB)]), 100 * MIB), undefined);
    assert.equal(placePartitions(disk([bytes(98 * MIB), rest]), 100 * MIB), undefined);
    assert.equal(placePartitions(disk([percent(1)]), 50 * MIB), undefined, 'smaller than 1 MiB');
    assert.equal(placePartitions(disk([bytes(MIB)]), 0), undefined);
  });

  test('becomes the script of sfdisk, with the types of the table', () => {
    const wanted = disk([], {
      partitions: [
        { label: 'a,b', size: bytes(10 * MIB), type: 'swap' },
        { label: undefined, size: rest, type: { guid: '4d21b016-b534-45c2-a9fb-5c16e091fd2d' } },
      ],
    });
    assert.equal(
      sfdiskScript(wanted, placePartitions(wanted, 100 * MIB) ?? []),
      'label: gpt\n\n' +
        'start=1MiB, size=10MiB, type=0657FD6D-A4AB-43C4-84E5-0933C84B4F4F, name="a,b"\n' +
        'start=11MiB, size=88MiB, type=4D21B016-B534-45C2-A9FB-5C16E091FD2D\n',
    );
    const mbr = disk([], { table: 'mbr', partitions: [{ label: undefined, size: rest, type: 'ntfs' }] });
    assert.equal(
      sfdiskScript(mbr, placePartitions(mbr, 100 * MIB) ?? []),
      'label: dos\n\nstart=1MiB, size=99MiB, type=7\n',
    );
  });
});

describe('a table that is there', () => {
  const LINUX = '0FC63DAF-8483-4772-8E79-3D69D8477DE4';
  const table = (sizes: readonly number[], different: Partial<PartitionTable> = {}): PartitionTable => ({
    kind: 'gpt',
    sectorBytes: 512,
    usableEndBytes: undefined,
    partitions: sizes.map((sizeBytes) => ({ startBytes: 0, sizeBytes, type: LINUX, label: 'made by hand' })),
    ...different,
  });
  const wanted = disk([bytes(GIB), rest]);

  const cases: readonly (readonly [string, DiskModel, number, PartitionTable, string | undefined])[] = [
    ['of the same sizes is as asked, whatever its labels', wanted, 10 * GIB, table([GIB, 9 * GIB]), undefined],
    ['may differ by 1 %', wanted, 10 * GIB, table([GIB + 10 * MIB, GIB]), undefined],
    ['of other sizes differs', wanted, 10 * GIB, table([2 * GIB, 8 * GIB]), 'partition 1 has 2048 MiB, not 1024 MiB'],
    ['of another number differs', wanted, 10 * GIB, table([GIB]), '1 partition where 2 are asked for'],
    ['of another kind differs', wanted, 10 * GIB, table([GIB, GIB], { kind: 'mbr' }), 'mbr table instead of gpt'],
    [
      'of another type differs',
      { ...wanted, partitions: [{ label: undefined, size: bytes(GIB), type: 'lvm' }] },
      10 * GIB,
      table([GIB]),
      `partition 1 is of type ${LINUX}, not E6D6D379-F507-44C2-A23C-238F2A3DF928`,
    ],
    [
      'of another label differs, where one is asked for',
      { ...wanted, partitions: [{ label: 'etcd', size: bytes(GIB), type: 'linux' }] },
      10 * GIB,
      table([GIB]),
      'partition 1 has the label "made by hand", not "etcd"',
    ],
    [
      'keeps its percentages when the disk grew',
      disk([percent(50), rest]),
      100 * GIB,
      table([5 * GIB, 5 * GIB], { usableEndBytes: 10 * GIB }),
      undefined,
    ],
    [
      'too small for what is asked differs',
      disk([bytes(GIB)]),
      MIB,
      table([GIB]),
      'a table too small for the partitions that are asked for',
    ],
  ];
  for (const [name, model, size, found, difference] of cases) {
    test(name, () => assert.equal(tableDifference(model, size, found), difference));
  }

  test('is read from what sfdisk prints, sectors of 4096 bytes included', () => {
    const printed = (label: string, more: object) =>
      JSON.stringify({ partitiontable: { label, unit: 'sectors', ...more } });
    assert.deepEqual(
      parsePartitionTable(
        printed('gpt', {
          lastlba: 999,
          sectorsize: 4096,
          partitions: [{ start: 3, size: 256, type: LINUX.toLowerCase(), name: 'x' }],
        }),
      ),
      {
        kind: 'gpt',
        sectorBytes: 4096,
        usableEndBytes: 1033 * 4096,
        partitions: [{ startBytes: 3 * 4096, sizeBytes: MIB, type: LINUX, label: 'x' }],
      },
    );
    assert.deepEqual(parsePartitionTable(printed('dos', { partitions: [{ size: 2048, type: '8E' }] })), {
      kind: 'mbr',
      sectorBytes: 512,
      usableEndBytes: undefined,
      partitions: [{ startBytes: 0, sizeBytes: MIB, type: '8e', label: undefined }],
    });
    assert.equal(parsePartitionTable(printed('sun', {})), undefined);
  });

  test('is none where sfdisk finds none, and an error where it prints something else than JSON', async () => {
    const disk = (answer: { readonly status?: number; readonly stdout: string }) =>
      memoryHost({ programs: { sfdisk: () => answer } });
    assert.equal(await readPartitionTable(disk({ status: 1, stdout: '' }), '/dev/sdb'), undefined);
    const printed = `not JSON ${'x'.repeat(300)}`;
    await assert.rejects(readPartitionTable(disk({ stdout: printed }), '/dev/sdb'), {
      reason: 'HostStepFailed',
      message: 'sfdisk did not print valid JSON.',
      evidence: [{ source: 'sfdisk', text: printed.slice(0, 200) }],
    });
  });
});
