import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { needs } from '../../support/needs.ts';

const WRITE_FILE = join(import.meta.dirname, '../../fixtures/host/write-file.ts');

interface Outcome {
  readonly written?: string;
  readonly reason?: string;
  readonly summary?: string;
  readonly remedy?: string;
}

/** Writes a file from a process in a mount namespace of its own, after `prepare` has run there. */
function writeAfter(prepare: string, path: string, content: string): Outcome {
  const script = `${prepare}\nexec "$0" "$1" "$2" 600`;
  const args = ['-m', '--propagation', 'private', 'sh', '-ec', script, process.execPath, WRITE_FILE, path];
  const result = spawnSync('unshare', args, { input: content, encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
}

describe('writing files on real file systems', { skip: needs('root') }, () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-files-'));
  });
  after(() => rm(directory, { recursive: true }));

  test('a full disk is DiskFull with the path and a remedy', () => {
    const path = join(directory, 'file');
    const tmpfs = `mount -t tmpfs -o size=64k tmpfs ${directory}; echo old > ${path}`;
    const outcome = writeAfter(tmpfs, path, 'x'.repeat(1 << 20));
    assert.equal(outcome.reason, 'DiskFull');
    assert.ok(outcome.summary?.includes(path), outcome.summary);
    assert.match(outcome.remedy ?? '', /Free space.*df -h/);
  });

  test('a write that fails for lack of space leaves no partial file and frees the space', () => {
    const path = join(directory, 'file');
    const tmpfs = `mount -t tmpfs -o size=64k tmpfs ${directory}; echo old > ${path}`;
    // The first attempt fails in a process of its own, then the same file system must hold a small file.
    const first = `head -c 1048576 /dev/zero | "$0" "$1" "$2" 600 >/dev/null; test "$(ls -A ${directory})" = file; test "$(cat ${path})" = old`;
    assert.deepEqual(writeAfter(`${tmpfs}\n${first}`, path, 'new'), { written: path });
  });

  test('a file system without free inodes is DiskFull as well', () => {
    const tmpfs = `mount -t tmpfs -o nr_inodes=2 tmpfs ${directory}; touch ${directory}/last`;
    assert.equal(writeAfter(tmpfs, join(directory, 'file'), 'x').reason, 'DiskFull');
  });

  test('a read-only mount is ReadOnlyFilesystem, for the file and for its parents', () => {
    const readOnly = `mount -t tmpfs -o ro tmpfs ${directory}`;
    for (const path of [join(directory, 'file'), join(directory, 'a', 'b', 'file')]) {
      const outcome = writeAfter(readOnly, path, 'x');
      assert.equal(outcome.reason, 'ReadOnlyFilesystem');
      assert.ok(outcome.summary?.includes(path), outcome.summary);
      assert.match(outcome.remedy ?? '', /findmnt/);
    }
  });

  test('a file that is bind-mounted cannot be replaced, and the error says so', () => {
    const path = join(directory, 'hosts');
    const bound = `mount -t tmpfs tmpfs ${directory}; echo a > ${path}; mount --bind ${path} ${path}`;
    const outcome = writeAfter(bound, path, 'x');
    assert.equal(outcome.reason, 'FileNotWritten');
    assert.match(outcome.summary ?? '', /mount point/);
  });

  test('a link that an unprivileged user put into the path is refused', () => {
    const home = join(directory, 'home');
    const trap = `mount -t tmpfs tmpfs ${directory}; mkdir ${home} ${directory}/victim; ln -s ${directory}/victim ${home}/.ssh; chown -hR 12345 ${home}`;
    const outcome = writeAfter(trap, join(home, '.ssh', 'authorized_keys'), 'x');
    assert.equal(outcome.reason, 'UnsafePath');
    assert.match(outcome.summary ?? '', /home\/\.ssh is a symbolic link that belongs to the user 12345/);
  });

  test('killed at any moment, the path holds the old content or the new, and the next write cleans up', async () => {
    const path = join(directory, 'whole');
    const next = 'n'.repeat(32 << 20);
    await writeFile(path, 'old');
    let killedHalfWay = 0;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const child = spawn(process.execPath, [WRITE_FILE, path, '600'], { stdio: ['pipe', 'ignore', 'ignore'] });
      child.stdin.on('error', () => undefined);
      child.stdin.end(next);
      let running = true;
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      const over = ended.then(() => {
        running = false;
      });
      // Until the new file is there under its temporary name, and a little longer each time.
      while (running && !(await readdir(directory)).some((name) => name !== 'whole')) await sleep(1);
      await sleep(attempt / 2);
      child.kill('SIGKILL');
      await over;
      if ((await readdir(directory)).length > 1) killedHalfWay += 1;
      const content = await readFile(path, 'utf8');
      assert.ok(content === 'old' || content === next, `${content.length} bytes`);
    }
    assert.ok(killedHalfWay > 0, 'at least one of the kills came between birth and rename');
    assert.equal(spawnSync(process.execPath, [WRITE_FILE, path, '600'], { input: 'last' }).status, 0);
    assert.deepEqual(await readdir(directory), ['whole']);
  });
});

describe('the mode of a secret file, as the kernel sees it', () => {
  test('is never wider than 0600, from its creation on', {
    skip: needs('strace', 'root'),
  }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'machineadm-strace-'));
    try {
      const path = join(directory, 'keys', 'ca.key');
      const trace = join(directory, 'trace');
      const calls = 'openat,open,creat,chmod,fchmod,fchmodat,fchown,rename,renameat,renameat2,write,pwrite64';
      const args = [
        '-f',
        '-y',
        '-s',
        '64',
        '-e',
        `trace=${calls}`,
        '-o',
        trace,
        process.execPath,
        WRITE_FILE,
        path,
        '600',
      ];
      const result = spawnSync('strace', args, {
        input: 'the-secret-itself',
        encoding: 'utf8',
        env: { ...process.env, UV_USE_IO_URING: '0' },
      });
      assert.equal(result.status, 0, result.stderr);
      const ours = (await readFile(trace, 'utf8'))
        .split('\n')
        .filter((line) => line.includes('.ca.key.machineadm-new'));
      const order = ours.map((line) => /^\d+\s+(\w+)\(/.exec(line)?.[1]);
      assert.deepEqual(order, ['openat', 'fchown', 'fchmod', order[3], 'rename'], ours.join('\n'));
      assert.match(order[3] ?? '', /^p?write/);
      assert.match(ours[0] ?? '', /O_CREAT\|O_EXCL\|O_NOFOLLOW.*, 0600\)/);
      assert.match(ours[2] ?? '', /, 0?600\)/);
      assert.match(ours[3] ?? '', /the-secret-itself/);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
