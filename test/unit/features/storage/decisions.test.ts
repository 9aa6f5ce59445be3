import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type DiskFinding,
  decideDisk,
  decideFilesystem,
  type FilesystemFinding,
} from '../../../../src/features/storage/decisions.ts';
import { decisionRows, STORAGE_PAGE } from '../../../support/decision-table.ts';
import { load } from '../../../support/document.ts';

const DISK_FINDINGS: Readonly<Record<DiskFinding, true>> = {
  blank: true,
  'matching table': true,
  'different table': true,
  'other signature': true,
};

const FILESYSTEM_FINDINGS: Readonly<Record<FilesystemFinding, true>> = {
  blank: true,
  'same type and label': true,
  'same type, other label': true,
  'other signature': true,
  'interrupted mkfs': true,
};

function known<Name extends string>(names: Readonly<Record<Name, true>>, cell: string): Name {
  for (const name of Object.keys(names)) if (name === cell) return cell as Name;
  throw new Error(`"${cell}" is no finding`);
}

describe('the decision tables of docs/storage.md', () => {
  for (const { finding, conditions, outcome } of decisionRows('disks')) {
    const [wipe = false, inUse = false] = conditions;
    test(`a disk with ${finding}, wipe ${wipe}, in use ${inUse}: ${outcome}`, () => {
      assert.equal(decideDisk(known(DISK_FINDINGS, finding), wipe, inUse), outcome);
    });
  }

  test('say of every disk what happens', () => {
    const said = decisionRows('disks').map(({ finding, conditions }) => [finding, ...conditions].join());
    assert.equal(new Set(said).size, Object.keys(DISK_FINDINGS).length * 4);
  });

  for (const { finding, conditions, outcome } of decisionRows('filesystems')) {
    const [overwrite = false, replaceable = false, inUse = false] = conditions;
    test(`a device with ${finding}, overwrite ${overwrite}, replace ${replaceable}, in use ${inUse}: ${outcome}`, () => {
      assert.equal(decideFilesystem(known(FILESYSTEM_FINDINGS, finding), overwrite, replaceable, inUse), outcome);
    });
  }

  test('speak of every finding on a device', () => {
    const spoken = new Set(decisionRows('filesystems').map(({ finding }) => finding));
    assert.deepEqual(spoken, new Set(Object.keys(FILESYSTEM_FINDINGS)));
  });

  test('nothing in use is ever written to, and data that was not given away never', () => {
    for (const finding of Object.keys(FILESYSTEM_FINDINGS).map((name) => known(FILESYSTEM_FINDINGS, name))) {
      for (const overwrite of [true, false]) {
        for (const replaceable of [true, false]) {
          assert.notEqual(decideFilesystem(finding, overwrite, replaceable, true), 'format');
        }
      }
      const own = finding === 'blank' || finding === 'interrupted mkfs';
      if (!own) assert.notEqual(decideFilesystem(finding, false, false, false), 'format');
    }
  });
});

test('the example of docs/storage.md validates', async () => {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(STORAGE_PAGE)?.[1] ?? '';
  const result = await load(yaml);
  assert.deepEqual(result.ok ? [] : result.problems, []);
});
