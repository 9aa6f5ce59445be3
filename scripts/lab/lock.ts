import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Runs `work` while holding an exclusive lock on a file. A flock(1) process holds the lock and exits when its stdin is
 * closed, so the lock of a killed session is released.
 *
 * @param onWait called once when another process holds the lock
 */
export async function withLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const release = await acquire(path, onWait);
  try {
    return await work();
  } finally {
    await release();
  }
}

/** Acquires the lock. Returns a function that releases it. */
export async function acquire(path: string, onWait: () => void): Promise<() => Promise<void>> {
  mkdirSync(dirname(path), { recursive: true });
  const script = 'flock -n 9 || { echo waiting; flock 9; }; echo held; exec cat >/dev/null';
  const holder = spawn('bash', ['-c', `exec 9>>"$1"; ${script}`, 'lock', path], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise<void>((resolve) => holder.on('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let said = '';
    holder.on('error', reject);
    holder.on('close', () => reject(new Error(`could not lock ${path}`)));
    holder.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (said === '' && text.startsWith('waiting')) onWait();
      said += text;
      if (said.includes('held')) resolve();
    });
  });
  // The lock must not keep this process alive.
  holder.unref();
  return async () => {
    holder.ref();
    holder.stdin.end();
    await ended;
  };
}
