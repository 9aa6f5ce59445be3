import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import { errnoOf } from '../files/file-error.ts';
import { LOCK_PATH } from '../files/paths.ts';
import { isRunning, parseProcessStat, readProcess } from '../linux/processes.ts';

/** The permanent identity of a process: a pid is reused, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks (1/100 s) since boot. */
  readonly startTicks: number;
}

const IS_WINDOWS = process.platform === 'win32';
/** In the same unit, since the epoch: on Windows the start time of another process can only be read with PowerShell. */
const TICK_MS = 10;

export function ownProcess(): ProcessIdentity {
  if (IS_WINDOWS) return { pid: process.pid, startTicks: Math.round(performance.timeOrigin / TICK_MS) };
  const own = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'));
  return { pid: process.pid, startTicks: own?.startTicks ?? 0 };
}

/** True while exactly this process runs; a zombie or another process with the same pid does not count. */
export async function isProcessAlive(identity: ProcessIdentity): Promise<boolean> {
  // Only a run has such an identity, and a run holds the lock as long as it lives.
  if (IS_WINDOWS) return (await import('./windows-lock.ts')).holdsWindowsLock(LOCK_PATH, identity.pid);
  const found = await readProcess(identity.pid);
  if (found === undefined) return isHidden(identity.pid);
  return found.startTicks === identity.startTicks && isRunning(found);
}

/** The same at once, for processes of Linux; a zombie counts. */
export function isRunningNow({ pid, startTicks }: ProcessIdentity): boolean {
  return parseProcessStat(statOf(pid))?.startTicks === startTicks || isHidden(pid);
}

/** The text of /proc/PID/stat; empty where it cannot be read. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

/** Whether a process exists that /proc hides from this user (mount option `hidepid`): kill(2) then fails with EPERM. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

/**
 * The command that starts this program again (for a unit): the absolute path of the single binary, or of Node and the
 * script where it runs from source.
 */
export function selfCommand(): readonly string[] {
  const [, script] = process.argv;
  return isSea() || script === undefined ? [process.execPath] : [process.execPath, resolve(script)];
}
