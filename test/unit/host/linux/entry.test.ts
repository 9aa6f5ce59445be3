import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { dropKeptDirectories } from '../../../../src/host/linux/directories.ts';
import { openDirectory, openEntry } from '../../../../src/host/linux/entry.ts';
import { overwrite } from '../../../../src/host/linux/overwrite.ts';
import { list, readText, sha256, stat } from '../../../../src/host/linux/read.ts';
import { chmod, chown, makeDirectory, removeFile, writeFile } from '../../../../src/host/linux/write.ts';
import { needs } from '../../../support/needs.ts';

const ALICE = 65534;
const BOB = 65533;
const skip = needs('root');

describe('paths resolved by descriptors', { skip }, () => {
  let base: string;
  const at = (...names: string[]): string => join(base, ...names);
  const directory = (path: string, uid = 0, mode = 0o755): void => {
    mkdirSync(at(path));
    chownSync(at(path), uid, uid);
    chmodSync(at(path), mode);
  };
  const file = (path: string, content = 'content', uid = 0, mode = 0o644): void => {
    writeFileSync(at(path), content);
    chownSync(at(path), uid, uid);
    chmodSync(at(path), mode);
  };
  const link = (target: string, path: string, uid = 0): void => {
    symlinkSync(target, at(path));
    lchownSync(at(path), uid, uid);
  };
  const write = (path: string) => writeFile({ path: at(path), content: 'new', mode: 0o644 });
  const UNSAFE = { reason: 'UnsafePath', code: 'EUNSAFE' };

  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'machineadm-entry-'));
    chmodSync(base, 0o755);
  });
  afterEach(() => {
    dropKeptDirectories();
    rmSync(base, { recursive: true });
  });

  describe('links of root', () => {
    test('are followed on the way and at the end of what is read, whatever their form', async () => {
      directory('usr');
      directory('usr/lib');
      file('usr/lib/file');
      link('usr/lib', 'lib');
      link(at('usr/lib'), 'absolute');
      link('../lib/../../absolute/file', 'usr/lib/back');
      for (const path of ['lib/file', 'absolute/file', 'lib/back', 'usr/../lib/file', 'absolute/./back']) {
        assert.equal(await readText(at(path)), 'content', path);
      }
      await write('lib/other');
      assert.equal(readFileSync(at('usr/lib/other'), 'utf8'), 'new');
      assert.deepEqual(await list(at('lib')), ['back', 'file', 'other']);
      assert.equal((await stat(at('lib')))?.type, 'symlink');
    });

    test('that form a cycle are reported as such', async () => {
      link('b', 'a');
      link('a', 'b');
      await assert.rejects(readText(at('a')), { code: 'ELOOP' });
      await assert.rejects(write('a/file'), { code: 'ELOOP' });
    });
  });

  describe('in a directory of an unprivileged user', () => {
    beforeEach(() => {
      directory('root', 0, 0o700);
      file('root/secret', 'secret', 0, 0o600);
      directory('home', ALICE);
    });

    test('a link of that user is not followed', async () => {
      link(at('root'), 'home/link', ALICE);
      link(at('root/secret'), 'home/secret', ALICE);
      for (const path of ['home/link/secret', 'home/secret']) {
        await assert.rejects(readText(at(path)), UNSAFE);
        await assert.rejects(sha256(at(path)), UNSAFE);
        await assert.rejects(write(path), UNSAFE);
      }
      await assert.rejects(makeDirectory(at('home/link/new'), 0o755), UNSAFE);
      await assert.rejects(removeFile(at('home/link/secret')), UNSAFE);
      await assert.rejects(chmod(at('home/link/secret'), 0o666), UNSAFE);
      await assert.rejects(chown(at('home/link/secret'), ALICE, ALICE), UNSAFE);
      await assert.rejects(list(at('home/link')), UNSAFE);
      await assert.rejects(overwrite(at('home/link/secret'), Buffer.from('s'), Buffer.from('X')), UNSAFE);
      await assert.rejects(chmod(at('home/secret'), 0o666), { code: 'ELOOP' });
      assert.deepEqual(readdirSync(at('root')), ['secret']);
      assert.equal(statSync(at('root/secret')).mode & 0o777, 0o600);
    });

    test("a link of root in that user's directory is not followed, since the user may have moved it there", async () => {
      link(at('root'), 'home/link');
      await assert.rejects(readText(at('home/link/secret')), UNSAFE);
    });

    test('a directory of root, or of another user, in his directory is not entered', async () => {
      directory('home/of-root');
      directory('home/of-bob', BOB);
      directory('home/own', ALICE);
      await assert.rejects(write('home/of-root/file'), UNSAFE);
      await assert.rejects(write('home/of-bob/file'), UNSAFE);
      await assert.rejects(chmod(at('home/of-root'), 0o777), UNSAFE);
      await write('home/own/file');
      assert.equal(statSync(at('home/own/file')).uid, 0);
    });

    test('a file of root can be read and changed, but a hard link to one cannot', async () => {
      await write('home/of-root');
      linkSync(at('root/secret'), at('home/hard'));
      assert.equal(await readText(at('home/of-root')), 'new');
      await chmod(at('home/of-root'), 0o600);
      await assert.rejects(readText(at('home/hard')), UNSAFE);
      await assert.rejects(chmod(at('home/hard'), 0o666), UNSAFE);
      await assert.rejects(overwrite(at('home/hard'), Buffer.from('s'), Buffer.from('X')), UNSAFE);
      assert.equal(readFileSync(at('root/secret'), 'utf8'), 'secret');
    });

    test('new directories belong to the user, and those above them do not change', async () => {
      await writeFile({ path: at('home/.config/app/file'), content: 'new', mode: 0o644, directoryMode: 0o750 });
      for (const path of ['home/.config', 'home/.config/app']) {
        const { uid, gid, mode } = statSync(at(path));
        assert.deepEqual([uid, gid, mode & 0o777], [ALICE, ALICE, 0o750]);
      }
      await write('home/.config/app/file');
      assert.equal(statSync(at('home')).mode & 0o777, 0o755);
    });
  });

  describe('among directories that others may write to', () => {
    test('of a group, real directories are entered, and links are not followed', async () => {
      directory('local', 0, 0o2775);
      directory('local/bin', 0, 0o2775);
      link(at('local/bin'), 'local/link');
      await write('local/bin/tool');
      await assert.rejects(write('local/link/tool'), UNSAFE);
    });

    test('of all users, without the sticky bit, nothing is entered', async () => {
      directory('open', 0, 0o777);
      directory('open/below');
      await assert.rejects(write('open/below/file'), UNSAFE);
      await write('open/file');
    });

    test('of all users, with the sticky bit, entries of root or of one user are used, and links of users are not', async () => {
      directory('tmp', 0, 0o1777);
      directory('tmp/of-root');
      directory('tmp/of-alice', ALICE);
      link(at('tmp/of-root'), 'tmp/link');
      link(at('tmp/of-root'), 'tmp/trap', ALICE);
      await write('tmp/of-root/file');
      await write('tmp/of-alice/file');
      assert.equal(await readText(at('tmp/link/file')), 'new');
      await assert.rejects(readText(at('tmp/trap/file')), UNSAFE);
    });
  });

  test('the message names the part that is the cause, and what to do', async () => {
    directory('home', ALICE);
    link('/etc', 'home/link', ALICE);
    await assert.rejects(write('home/link/x'), (error: Error & { remedy?: string }) => {
      assert.match(
        error.message,
        /home\/link\/x could not be written: .*home\/link is a symbolic link that belongs to the user 65534$/,
      );
      assert.match(error.remedy ?? '', /namei -l/);
      return true;
    });
  });

  test('a relative path begins where the process is', () => {
    using entry = openEntry('package.json');
    assert.equal(statSync(entry.at).ino, statSync('package.json').ino);
    using parent = openDirectory('..');
    assert.equal(parent.directory.stat.ino, statSync('..').ino);
  });

  test('a directory of root is opened once a turn, one of a user each time; no descriptor is left', async () => {
    directory('etc');
    directory('home', ALICE);
    const descriptors = () => readdirSync('/proc/self/fd').length;
    await turn();
    const before = descriptors();
    {
      using first = openEntry(at('etc/a'));
      using second = openEntry(at('etc/b'));
      assert.equal(first.directory, second.directory);
      using own = openEntry(at('home/a'));
      using again = openEntry(at('home/b'));
      assert.equal(own.directory, again.directory, 'the home itself cannot be exchanged by its owner');
      directory('home/below', ALICE);
      using below = openEntry(at('home/below/a'));
      using other = openEntry(at('home/below/b'));
      assert.notEqual(below.directory, other.directory);
    }
    await assert.rejects(write('etc/missing/../../home/none/\0'), Error);
    await turn();
    assert.equal(descriptors(), before);
    renameSync(at('etc'), at('etc.old'));
    directory('etc');
    await write('etc/file');
    assert.deepEqual(readdirSync(at('etc')), ['file']);
  });
});
