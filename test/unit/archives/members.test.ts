import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { membersOf } from '@machineadm/archives/archive.ts';
import { LIMITS } from '@machineadm/archives/manifest.ts';
import { joined, storedBytes } from '@machineadm/archives/stored-bytes.ts';
import { type TestMember, tarOf, zipOf } from '../../support/archives.ts';

/** All that an archive has, with the contents as text. */
async function read(archive: Uint8Array) {
  const found = [];
  for await (const member of membersOf(storedBytes(archive), LIMITS)) {
    const { name, type, mode, target, size } = member;
    found.push({ name, type, mode, target, size, text: (await joined(member.content())).toString() });
  }
  return found;
}

const refuses = async (archive: Uint8Array, why: RegExp) =>
  await assert.rejects(read(archive), (error) => error instanceof Error && why.test(error.message));

const MEMBERS: readonly TestMember[] = [
  { name: 'bin', type: '5' },
  { name: 'bin/tool', content: 'x'.repeat(600_000), mode: 0o4755 },
  { name: 'bin/empty', mode: 0o644 },
  { name: 'bin/alias', type: '2', target: 'tool' },
];

describe('the members of an archive', () => {
  for (const [format, archive] of [
    ['tar', tarOf(MEMBERS)],
    ['tar.gz', gzipSync(tarOf(MEMBERS))],
    ['tar.zst', zstdCompressSync(tarOf(MEMBERS))],
    ['zip', zipOf(MEMBERS)],
  ] as const) {
    test(`of a ${format} have names, types, modes, targets and contents`, async () => {
      const found = await read(archive);
      assert.deepEqual(
        found.map(({ name, type, target }) => [name.replace(/\/$/, ''), type, target]),
        [
          ['bin', 'directory', ''],
          ['bin/tool', 'file', ''],
          ['bin/empty', 'file', ''],
          ['bin/alias', 'symlink', 'tool'],
        ],
      );
      assert.deepEqual([found[1]?.mode, found[1]?.size, found[1]?.text], [0o4755, 600_000, 'x'.repeat(600_000)]);
      assert.deepEqual([found[2]?.mode, found[2]?.size, found[2]?.text], [0o644, 0, '']);
    });
  }

  test('whose content is not read are skipped', async () => {
    for (const archive of [tarOf(MEMBERS), gzipSync(tarOf(MEMBERS)), zipOf(MEMBERS)]) {
      const names = [];
      for await (const { name } of membersOf(storedBytes(archive), LIMITS)) names.push(name);
      assert.equal(names.length, 4);
    }
  });

  test('whose content is read in part leave the next one in place', async () => {
    const names = [];
    for await (const member of membersOf(storedBytes(tarOf(MEMBERS)), LIMITS)) {
      names.push(member.name);
      for await (const piece of member.content()) {
        assert.ok(piece.length > 0 && piece.length < 600_000);
        break;
      }
    }
    assert.deepEqual(names, ['bin', 'bin/tool', 'bin/empty', 'bin/alias']);
  });

  test('of tar(1) have long names and long targets in every format that has them', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-members-'));
    const [long, name] = ['d'.repeat(90), 'n'.repeat(120)];
    mkdirSync(join(directory.path, long));
    writeFileSync(join(directory.path, long, name), 'content');
    symlinkSync(`${long}/${name}`, join(directory.path, 'link'));
    for (const format of ['gnu', 'pax']) {
      const made = spawnSync('tar', ['-C', directory.path, `--format=${format}`, '-cf', '-', long, 'link']);
      assert.deepEqual(
        (await read(made.stdout)).map(({ name, type, target, text }) => [name, type, target, text]),
        [
          [`${long}/`, 'directory', '', ''],
          [`${long}/${name}`, 'file', '', 'content'],
          ['link', 'symlink', `${long}/${name}`, ''],
        ],
      );
    }
  });

  test('that are no plain files are listed separately', async () => {
    const types = ['1', '3', '4', '6', 'S'].map((type) => ({ name: type, type, target: type === '1' ? 'x' : '' }));
    const found = await read(tarOf(types));
    assert.deepEqual(
      found.map(({ name, type }) => `${name} ${type}`),
      ['1 hardlink', '3 other', '4 other', '6 other', 'S other'],
    );
    const [device] = await read(zipOf([{ name: 'null', type: '3' }]));
    assert.equal(device?.type, 'other');
  });

  test('of a pax archive may be sparse, and then are no plain files; global records are no members', async () => {
    const record = '22 GNU.sparse.major=1\n';
    const found = await read(
      tarOf([
        { name: 'global', type: 'g', content: '13 comment=x\n' },
        { name: 'pax', type: 'x', content: record },
        { name: 'holes', content: 'data' },
        { name: 'whole', content: 'data' },
      ]),
    );
    assert.deepEqual(
      found.map(({ name, type }) => `${name} ${type}`),
      ['holes other', 'whole file'],
    );
  });

  test('of a zip that was made on Windows have no mode', async () => {
    const [member] = await read(zipOf([{ name: 'tool', content: 'x' }], { system: 0 }));
    assert.deepEqual([member?.type, member?.mode, member?.text], ['file', undefined, 'x']);
  });

  test('are refused where the archive is damaged, cut short, or something else', async () => {
    const tar = tarOf(MEMBERS);
    const zip = zipOf(MEMBERS);
    await refuses(tar.subarray(0, 1000), /the archive is cut short/);
    await refuses(tar.subarray(0, 100_000), /the archive is cut short/);
    await refuses(gzipSync(tar).subarray(0, 200), /unexpected end of file/);
    await refuses(zstdCompressSync(tar).subarray(0, 40), /./);
    await refuses(Buffer.from('#!/bin/sh\n'.repeat(100)), /not a tar archive, or a damaged one/);
    await refuses(zip.subarray(0, zip.length - 30), /not a zip archive, or a damaged one/);
    await refuses(zipOf(MEMBERS, { damaged: true }), /the checksum of bin\/ is wrong/);
    await refuses(Buffer.from('BZh91AY&SY'), /compressed with bzip2/);
    await refuses(Buffer.from('fd377a585a0000', 'hex'), /compressed with xz; gzip, zstd or a plain tar is needed/);
    const sizes = Buffer.from(tar);
    sizes.write('zzzzzzzzzzz', 512 + 124);
    await refuses(sizes, /not a tar archive, or a damaged one/);
  });

  test('of a zip whose contents are longer than it says are refused', async () => {
    const zip = zipOf([{ name: 'bomb', content: 'y'.repeat(1000) }]);
    const lies = Buffer.from(zip);
    const packed = deflateRawSync('y'.repeat(1000)).length;
    // The size in the central directory, which is the one that counts.
    lies.writeUInt32LE(10, 30 + 'bomb'.length + packed + 24);
    await refuses(lies, /not a zip archive, or a damaged one/);
  });

  test('of a zip with names that lead elsewhere are refused', async () => {
    await refuses(zipOf([{ name: '../x' }]), /not a zip archive, or a damaged one: invalid relative path/);
    await refuses(zipOf([{ name: '/x' }]), /absolute path/);
  });
});
