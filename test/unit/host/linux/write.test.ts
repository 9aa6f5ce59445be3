import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import fs from 'node:fs';
import {
  chmod as changeMode,
  lstat,
  mkdir,
  mkdtemp,
  writeFile as put,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  chmod,
  makeDirectory,
  removeFile,
  sync,
  temporaryName,
  writeFile,
  writeKernelFile,
  writeLink,
} from '../../../../src/host/linux/write.ts';

const uid = process.geteuid?.() ?? 0;
const gid = process.getegid?.() ?? 0;

describe('writing files', () => {
  let root: string;
  let directory: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'machineadm-write-'));
  });
  after(() => rm(root, { recursive: true }));
  beforeEach(async () => {
    directory = await mkdtemp(join(root, 'case-'));
  });
  const write = (path: string, content: string | Uint8Array, mode: number, directoryMode?: number) =>
    writeFile({ path, content, mode, uid, gid, ...(directoryMode === undefined ? {} : { directoryMode }) });
  const modeOf = async (path: string) => ((await lstat(path)).mode & 0o7777).toString(8);

  test('mode, content and parents are as asked for under every umask', async () => {
    for (const umask of [0o000, 0o022, 0o077, 0o777]) {
      const path = join(directory, `umask-${umask}`, 'deep', 'file');
      const before = process.umask(umask);
      try {
        await write(path, 'content', 0o644);
        await write(join(directory, `umask-${umask}`, 'private', 'key'), 'secret', 0o600, 0o700);
      } finally {
        process.umask(before);
      }
      assert.equal(await readFile(path, 'utf8'), 'content');
      assert.equal(await modeOf(path), '644');
      assert.equal(await modeOf(join(path, '..')), '755');
      assert.equal(await modeOf(join(directory, `umask-${umask}`)), '755');
      assert.equal(await modeOf(join(directory, `umask-${umask}`, 'private')), '700');
    }
  });

  test('parents that are there keep their mode', async () => {
    await mkdir(join(directory, 'there'));
    await changeMode(join(directory, 'there'), 0o711);
    await write(join(directory, 'there', 'file'), '', 0o644, 0o700);
    assert.equal(await modeOf(join(directory, 'there')), '711');
  });

  test('setuid survives owner and content', async () => {
    const path = join(directory, 'tool');
    await write(path, '#!/bin/sh\n', 0o4755);
    assert.equal(await modeOf(path), '4755');
  });

  test('a file is replaced as a whole: a reader that has it open continues to read the old one', async () => {
    const path = join(directory, 'file');
    await write(path, 'old', 0o600);
    const old = await stat(path);
    await write(path, 'new', 0o640);
    assert.notEqual((await stat(path)).ino, old.ino);
    assert.equal(await readFile(path, 'utf8'), 'new');
    assert.equal(await modeOf(path), '640');
    assert.deepEqual(await readdir(directory), ['file']);
  });

  test('what a killed run left is removed when the path is written again, and never trusted', async () => {
    const path = join(directory, 'file');
    const victim = join(directory, 'victim');
    await put(victim, 'untouched');
    await symlink(victim, temporaryName(path));
    await write(path, 'content', 0o600);
    assert.deepEqual(await readdir(directory), ['file', 'victim']);
    assert.equal(await readFile(victim, 'utf8'), 'untouched');
    assert.equal((await lstat(path)).isFile(), true);
  });

  test('the temporary name is hidden, of the same directory, and fits for the longest names', async () => {
    assert.equal(
      temporaryName('/etc/kubernetes/manifests/etcd.yaml'),
      '/etc/kubernetes/manifests/.etcd.yaml.machineadm-new',
    );
    const path = join(directory, 'é'.repeat(127));
    await write(path, 'content', 0o644);
    assert.equal(await readFile(path, 'utf8'), 'content');
  });

  test('a link as the last component is replaced and not followed', async () => {
    const target = join(directory, 'target');
    await put(target, 'target');
    await symlink(target, join(directory, 'link'));
    await write(join(directory, 'link'), 'content', 0o644);
    assert.equal(await readFile(target, 'utf8'), 'target');
    assert.equal((await lstat(join(directory, 'link'))).isFile(), true);
  });

  test('a link that masks a unit, or stands for a directory, is refused', async () => {
    await symlink('/dev/null', join(directory, 'masked.service'));
    await symlink(directory, join(directory, 'loop'));
    for (const name of ['masked.service', 'loop']) {
      await assert.rejects(write(join(directory, name), 'x', 0o644), {
        reason: 'FileNotWritten',
        message: /symbolic link/,
      });
      assert.equal((await lstat(join(directory, name))).isSymbolicLink(), true);
    }
  });

  test('a directory in place of the file, and a file in place of a directory, are refused with a remedy', async () => {
    await mkdir(join(directory, 'd'));
    await put(join(directory, 'f'), '');
    await assert.rejects(write(join(directory, 'd'), 'x', 0o644), { reason: 'FileNotWritten', code: 'EISDIR' });
    await assert.rejects(write(join(directory, 'f', 'x'), 'x', 0o644), { reason: 'FileNotWritten', code: 'ENOTDIR' });
    assert.deepEqual(await readdir(directory), ['d', 'f']);
  });

  test('a link takes the place of a file or a link, never that of a directory', async () => {
    const path = join(directory, 'below', 'link');
    await writeLink(path, 'one');
    await writeLink(path, '../two');
    assert.equal(await readlink(path), '../two');
    await put(join(directory, 'f'), '');
    await writeLink(join(directory, 'f'), 'one');
    assert.equal(await readlink(join(directory, 'f')), 'one');
    await mkdir(join(directory, 'd'));
    await assert.rejects(writeLink(join(directory, 'd'), 'one'), { code: 'EISDIR' });
    assert.deepEqual(await readdir(directory), ['below', 'd', 'f']);
  });

  test('remove deletes a link, not its target, and accepts a missing path', async () => {
    await put(join(directory, 'target'), '');
    await symlink('target', join(directory, 'link'));
    await removeFile(join(directory, 'link'));
    await removeFile(join(directory, 'link'));
    assert.deepEqual(await readdir(directory), ['target']);
  });

  test('makeDirectory sets the mode of what it creates and leaves what is there', async () => {
    await makeDirectory(join(directory, 'a', 'b'), 0o750);
    assert.equal(await modeOf(join(directory, 'a', 'b')), '750');
    await makeDirectory(join(directory, 'a', 'b'), 0o700);
    assert.equal(await modeOf(join(directory, 'a', 'b')), '750');
  });

  test('chmod changes files and directories, and follows no link', async () => {
    await put(join(directory, 'file'), '');
    await symlink('file', join(directory, 'link'));
    await chmod(join(directory, 'file'), 0o604);
    assert.equal(await modeOf(join(directory, 'file')), '604');
    await assert.rejects(chmod(join(directory, 'link'), 0o777), { code: 'ELOOP' });
    assert.equal(await modeOf(join(directory, 'file')), '604');
  });

  test('a kernel file is never created, and its errno is returned', async () => {
    await assert.rejects(writeKernelFile(join(directory, 'nonesuch'), '1'), { code: 'ENOENT' });
    assert.deepEqual(await readdir(directory), []);
    await put(join(directory, 'key'), '0\n');
    await writeKernelFile(join(directory, 'key'), '1');
    assert.equal(await readFile(join(directory, 'key'), 'utf8'), '1\n');
  });

  test('sync of a file flushes it and its directory without a program; of a directory, sync(1) flushes the file system', async (t) => {
    const flushed: string[] = [];
    const fsync = fs.fsyncSync;
    t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
      flushed.push(fs.readlinkSync(`/proc/self/fd/${descriptor}`));
      fsync(descriptor);
    });
    const spawn = t.mock.method(childProcess, 'spawn');
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    await write(join(directory, 'below', 'file'), 'text', 0o600);
    await sync(join(directory, 'below', 'file'));
    assert.deepEqual(flushed, [join(directory, 'below', 'file'), join(directory, 'below')]);
    assert.equal(spawn.mock.callCount(), 0);
    await sync(directory);
    assert.equal(spawn.mock.callCount(), 1);
  });

  test('sync works for a path that is there and for one that was removed', async () => {
    await sync(directory);
    await sync(join(directory, 'gone', 'away'));
  });
});
