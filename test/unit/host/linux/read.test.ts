import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { list, readFile, readLink, readRange, readText, sha256, stat, which } from '../../../../src/host/linux/read.ts';

describe('reading files', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-read-'));
    await writeFile(join(directory, 'file'), 'abc', { mode: 0o640 });
    await mkdir(join(directory, 'dir'));
    await symlink('file', join(directory, 'link'));
  });
  after(() => rm(directory, { recursive: true }));

  test('what does not exist is undefined, also below a file', async () => {
    for (const path of [join(directory, 'nothing'), join(directory, 'file', 'x')]) {
      for (const ask of [readFile, readText, stat, list, sha256]) assert.equal(await ask(path), undefined);
      assert.equal(await readRange(path, 0, 1), undefined);
    }
  });

  test('content, ranges and digest', async () => {
    assert.equal(await readText(join(directory, 'link')), 'abc');
    assert.deepEqual(await readFile(join(directory, 'file')), Buffer.from('abc'));
    assert.deepEqual(await readRange(join(directory, 'file'), 1, 10), new Uint8Array(Buffer.from('bc')));
    // FIPS 180-2, the example of one block.
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    assert.equal(await sha256(join(directory, 'file')), abc);
  });

  test('/proc, whose files have no size, is read whole', async () => {
    assert.match((await readText('/proc/self/status')) ?? '', /^Name:[\s\S]*\nPid:/);
  });

  test('stat does not follow links', async () => {
    const file = await stat(join(directory, 'file'));
    assert.deepEqual([file?.type, file?.mode, file?.size], ['file', 0o640, 3]);
    assert.equal((await stat(join(directory, 'link')))?.type, 'symlink');
    assert.equal((await stat('/dev/null'))?.type, 'other');
  });

  test('what a link holds is read, and of anything else nothing', async () => {
    assert.equal(await readLink(join(directory, 'link')), 'file');
    for (const name of ['file', 'dir', 'nothing']) assert.equal(await readLink(join(directory, name)), undefined);
    assert.match((await readLink('/proc/self/exe')) ?? '', /node/);
  });

  test('a directory is listed in order, and is no file', async () => {
    assert.deepEqual(await list(directory), ['dir', 'file', 'link']);
    await assert.rejects(readFile(directory), { reason: 'HostStepFailed', code: 'EISDIR', path: directory });
  });

  test('programs are found where root finds them, whatever the PATH of the caller', async () => {
    const before = process.env.PATH;
    process.env.PATH = directory;
    try {
      assert.match((await which('sh')) ?? '', /^\/.*\/sh$/);
      await writeFile(join(directory, 'own'), '', { mode: 0o755 });
      assert.equal(await which('own'), undefined);
      assert.equal(await which(join(directory, 'own')), join(directory, 'own'));
      assert.equal(await which(join(directory, 'dir')), undefined);
    } finally {
      process.env.PATH = before;
    }
  });
});
