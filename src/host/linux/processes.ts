import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../files/file-error.ts';

/** A process as described by /proc. */
export interface ProcessInfo {
  readonly pid: number;
  /** The name of the program, truncated to 15 characters by the kernel. */
  readonly name: string;
  readonly state: string;
  readonly group: number;
  /** Its start, in clock ticks (1/100 s) since boot: together with the pid it identifies a process permanently. */
  readonly startTicks: number;
}

/**
 * Parses /proc/PID/stat (proc_pid_stat(5)): pid (comm) state ppid pgrp … starttime is the 22nd. The name may contain
 * blanks and parentheses, so fields are counted from the last parenthesis.
 */
export function parseProcessStat(text: string): ProcessInfo | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open === -1 || close < open) return undefined;
  const fields = text.slice(close + 2).split(' ');
  const [pid, group, startTicks] = [text.slice(0, open), fields[2], fields[19]].map(Number);
  if (pid === undefined || group === undefined || startTicks === undefined) return undefined;
  if (![pid, group, startTicks].every(Number.isSafeInteger)) return undefined;
  return { pid, name: text.slice(open + 1, close), state: fields[0] ?? '', group, startTicks };
}

/** A process by its id; undefined when there is none. */
export async function readProcess(pid: number): Promise<ProcessInfo | undefined> {
  const text = await readIfThere(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseProcessStat(text);
}

/** All processes visible to this one. */
export async function allProcesses(): Promise<readonly ProcessInfo[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(readProcess));
  return found.filter((process) => process !== undefined);
}

/**
 * While a process executes another program, the kernel shows it without an environment for a short time (Linux fs/exec.c,
 * begin_new_exec): for as long as a busy machine gives it no processor time there. One that really has none costs 100 ms.
 */
const EXECUTING = { attempts: 25, pauseMs: 4 };

/** A variable of the environment that a process was started with; undefined where unset or not readable. */
export async function environmentVariable(pid: number, name: string): Promise<string | undefined> {
  const read = async () => await readIfThere(`/proc/${pid}/environ`);
  let text = await read();
  for (let attempt = 1; text === '' && attempt < EXECUTING.attempts; attempt += 1) {
    await sleep(EXECUTING.pauseMs);
    text = await read();
  }
  return text
    ?.split('\0')
    .find((entry) => entry.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

/** True for a process that runs: neither a zombie nor one that is being removed. */
export function isRunning(process: ProcessInfo): boolean {
  return !['Z', 'X', 'x'].includes(process.state);
}

/** Sends a signal to a process group; false when it has no members left. */
export function signalGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return false;
    throw error;
  }
}

/** Waits until no member of a process group runs; false when some still do after `withinMs`. */
export async function groupEnded(group: number, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 100)) {
    const members = (await allProcesses()).filter((member) => member.group === group && isRunning(member));
    if (members.length === 0) return true;
    if (performance.now() >= until) return false;
    await sleep(pauseMs);
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = errnoOf(error);
    // ESRCH: it ended between open and read. EACCES: a process of another user, in a plan without root.
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined;
    throw error;
  }
}
