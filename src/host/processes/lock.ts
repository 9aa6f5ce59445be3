import { spawnSync } from 'node:child_process';
import { closeSync, constants, fstatSync, ftruncateSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { fileError } from '../files/file-error.ts';
import { cleanEnvironment } from '../linux/environment.ts';
import { openPlace, requireRegular } from '../local-files/place.ts';
import { isRunningNow, ownProcess } from './identity.ts';
import { lockedError } from './locked-error.ts';
import { tryWindowsLock } from './windows-lock.ts';

/** The exclusive right to change this machine. It ends with `release`, or with this process, however that ends. */
export interface Lock {
  readonly path: string;
  release(): void;
}

/** Pause between two checks of a lock that is held. */
const LOOK_EVERY_MS = 100;

/** flock(1): the status when -n finds the lock held. */
const HELD_BY_ANOTHER = 1;

/**
 * Takes the lock file for this process. The kernel keeps a flock(2) lock with the open file description: a short-lived
 * flock(1) takes it on the inherited descriptor, and this process keeps it when the child ends. No other child inherits
 * the descriptor (Node opens with O_CLOEXEC), so the lock is free as soon as this process is gone, even after `kill
 * -9`.
 * On Windows an exclusively shared handle is the lock (`windows-lock.ts`).
 * Waits up to `patienceMs` for a lock that is held. Throws `Locked` with the holder, `PreflightFailed` where flock(1)
 * is missing, `FileError` (`ReadOnlyFilesystem`, …).
 */
export async function acquireLock(path: string, patienceMs = 0): Promise<Lock> {
  for (const until = performance.now() + patienceMs; ; await sleep(LOOK_EVERY_MS)) {
    try {
      return process.platform === 'win32' ? tryWindowsLock(path) : tryLock(path);
    } catch (error) {
      const isHeld = error instanceof MachineadmError && error.reason === 'Locked';
      if (!isHeld || performance.now() >= until) throw error;
    }
  }
}

function tryLock(path: string): Lock {
  for (;;) {
    const descriptor = openLockFile(path);
    try {
      takeLock(descriptor, path);
      // Another process may have removed the file between our opening and locking it; then a third one could lock a new
      // file.
      if (isStillAt(descriptor, path)) {
        const { pid, startTicks } = ownProcess();
        ftruncateSync(descriptor);
        writeSync(descriptor, `${pid} ${startTicks}\n`, 0);
        return { path, release: once(() => released(descriptor)) };
      }
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
  }
}

function openLockFile(path: string): number {
  try {
    using place = openPlace(path, { create: 0o755, closed: true });
    // 0600: a user who can open the file can lock it, and so block the node's bootstrap.
    const descriptor = place.open(constants.O_RDWR | constants.O_CREAT, 0o600);
    requireRegular(descriptor, path);
    return descriptor;
  } catch (error) {
    throw fileError('create', path, error);
  }
}

function takeLock(descriptor: number, path: string): void {
  // Synchronous: nothing else of this process may run between the attempt and its result.
  const result = spawnSync('flock', ['-n', '-x', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
    env: cleanEnvironment(),
    encoding: 'utf8',
  });
  if (result.status === 0) return;
  if (result.status === HELD_BY_ANOTHER) throw lockedError(path, holderIn(readFileSync(descriptor, 'utf8')));
  throw new MachineadmError({
    reason: 'PreflightFailed',
    summary: `the lock ${path} could not be taken with flock(1)`,
    remedy: 'Install util-linux (it provides flock), and check that the file system of the lock supports flock(2).',
    evidence: [{ source: 'flock', text: result.error?.message ?? result.stderr.trim() }],
    cause: result.error,
  });
}

/** The process that a lock file names, if it still runs: the holder may not have written its own id yet. */
function holderIn(text: string): number | undefined {
  const [pid = 0, startTicks = 0] = text.split(' ').map(Number);
  return pid > 0 && isRunningNow({ pid, startTicks }) ? pid : undefined;
}

function released(descriptor: number): void {
  ftruncateSync(descriptor);
  closeSync(descriptor);
}

function isStillAt(descriptor: number, path: string): boolean {
  const mine = fstatSync(descriptor);
  using place = openPlace(path);
  const there = place.stat();
  return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
