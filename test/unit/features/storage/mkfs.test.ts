import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FilesystemModel } from '@machineadm/document/model/index.ts';
import { mkfsArguments, mkfsProgram, newFilesystemId } from '../../../../src/features/storage/mkfs.ts';

const UUID = 'abcd1234-bbbb-4ccc-8ddd-eeeeeeeeeeee';

function filesystem(type: FilesystemModel['type'], options: readonly string[] = [], label?: string): FilesystemModel {
  const device = { by: { kind: 'label', label: 'x' }, partition: undefined, waitMs: 0 } as const;
  return { device, type, label, options, overwrite: false, replace: [] };
}

describe('mkfs', () => {
  for (const [type, command] of [
    ['ext4', `mkfs.ext4 -q -U ${UUID} -L etcd -m 0 /dev/sdb1`],
    ['xfs', `mkfs.xfs -q -m uuid=${UUID} -L etcd -m 0 /dev/sdb1`],
    ['btrfs', `mkfs.btrfs -q -U ${UUID} -L etcd -m 0 /dev/sdb1`],
    ['vfat', 'mkfs.vfat -I -i abcd1234 -n etcd -m 0 /dev/sdb1'],
    ['swap', `mkswap -U ${UUID} -L etcd -m 0 /dev/sdb1`],
  ] as const) {
    test(`of ${type} is ${command}`, () => {
      const wanted = filesystem(type, ['-m', '0'], 'etcd');
      const args = mkfsArguments(wanted, newFilesystemId(wanted, UUID), '/dev/sdb1');
      assert.equal([mkfsProgram(type), ...args].join(' '), command);
    });
  }

  test('without a label names none', () => {
    assert.deepEqual(mkfsArguments(filesystem('ext4'), undefined, '/dev/sdb1'), ['-q', '/dev/sdb1']);
  });

  for (const [type, options] of [
    ['ext4', ['-U', 'random']],
    ['xfs', ['-m', 'crc=1,uuid=11111111-2222-4333-8444-555555555555']],
    ['btrfs', ['--uuid=11111111-2222-4333-8444-555555555555']],
    ['vfat', ['-i', '12345678']],
    ['swap', ['-U', 'clear']],
  ] as const) {
    test(`of ${type} leaves the identity to the document's options when they choose it`, () => {
      assert.equal(newFilesystemId(filesystem(type, options), UUID), undefined);
      assert.notEqual(newFilesystemId(filesystem(type, ['-n', 'x']), UUID), undefined);
    });
  }
});
