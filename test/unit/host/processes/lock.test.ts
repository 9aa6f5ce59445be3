import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { acquireLock } from '../../../../src/host/processes/lock.ts';

const HOLDER = join(import.meta.dirname, '../../../fixtures/host/hold-lock.ts');

/** A process that holds the lock, when this resolves. */
async function holder(path: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (status) => reject(new Error(`the holder ended with ${status}`)));
  });
  return child;
}

async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

describe('the lock', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-lock-'));
  });
  after(() => rm(directory, { recursive: true }));

  test('is refused while another process holds it, whose pid is reported, and released as soon as that process is killed', async () => {
    const path = join(directory, 'kill', 'lock');
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const child = await holder(path);
      await assert.rejects(acquireLock(path), { reason: 'Locked', message: new RegExp(`process ${child.pid} holds`) });
      await killed(child, signal);
      (await acquireLock(path)).release();
    }
  });

  test('names no holder that is gone: the file of an earlier one says nothing of who holds it now', async () => {
    const path = join(directory, 'stale');
    const gone = spawnSync('true').pid;
    const child = spawn('sh', ['-c', `exec 3>>"$0"; flock -x 3; echo; exec sleep 60`, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await writeFile(path, `${gone} 12345\n`);
    try {
      await assert.rejects(acquireLock(path), { reason: 'Locked', message: /another process holds/ });
      // The pid of the file is now of another process.
      await writeFile(path, `${process.pid} 1\n`);
      await assert.rejects(acquireLock(path), { reason: 'Locked', message: /another process holds/ });
    } finally {
      await killed(child, 'SIGKILL');
    }
    (await acquireLock(path)).release();
    assert.equal(await readFile(path, 'utf8'), '', 'a released lock names nobody');
  });

  test('is refused to the same process, too, and can be taken again after its release', async () => {
    const path = join(directory, 'again');
    const lock = await acquireLock(path);
    await assert.rejects(acquireLock(path), { reason: 'Locked' });
    lock.release();
    lock.release();
    (await acquireLock(path)).release();
  });

  test('is not inherited: a command that outlives its run does not block the next run', async () => {
    const path = join(directory, 'inherit');
    const lock = await acquireLock(path);
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    try {
      lock.release();
      (await acquireLock(path)).release();
    } finally {
      await killed(child, 'SIGKILL');
    }
  });

  test('has a file that others cannot lock, that names the holder, and that is not a link', async () => {
    const path = join(directory, 'file');
    const lock = await acquireLock(path);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.match(await readFile(path, 'utf8'), new RegExp(`^${process.pid} \\d+\n$`));
    lock.release();
    await symlink(path, join(directory, 'link'));
    await assert.rejects(acquireLock(join(directory, 'link')), { reason: 'FileNotWritten', code: 'ELOOP' });
  });

  test('is not held twice when its file was removed while it was held', async () => {
    const path = join(directory, 'removed');
    const first = await acquireLock(path);
    await rm(path);
    const second = await acquireLock(path);
    await assert.rejects(acquireLock(path), { reason: 'Locked' });
    assert.equal(spawnSync('flock', ['-n', '-x', path, 'true']).status, 1);
    second.release();
    first.release();
  });
});
