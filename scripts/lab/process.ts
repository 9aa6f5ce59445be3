import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Finished {
  /** The exit status; 128 + signal number if a signal killed the process, as in a shell. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  /** The whole environment; default: this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** After this the whole process group is killed. Default 10 minutes. */
  readonly timeoutMs?: number;
  /** Called with each chunk of stdout and stderr. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Called once the process has a pid. */
  readonly onStart?: (pid: number) => void;
}

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };

/** Runs a program in a process group of its own and waits until it exits. Throws only if it cannot be started. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.env === undefined ? {} : { env: { ...options.env } }),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const pid = child.pid;
    const output = { stdout: '', stderr: '' };
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      if (pid !== undefined) killGroup(pid);
    }, options.timeoutMs ?? 600_000);
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text;
        options.onOutput?.(stream, text);
      });
    }
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const status = code ?? 128 + (SIGNAL_NUMBERS[signal ?? ''] ?? 0);
      resolve({ status, ...output, timedOut });
    });
    if (pid !== undefined) options.onStart?.(pid);
    // A program that exits without reading its input (EPIPE) is not an error.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/** Like `run`, but throws an error with the output of the program if the status is not 0. */
export async function mustRun(program: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const finished = await run(program, args, options);
  if (finished.status !== 0) {
    const said = (finished.stderr + finished.stdout).trim().split('\n').slice(-15).join('\n');
    const how = finished.timedOut ? 'did not end in time' : `ended with ${finished.status}`;
    throw new Error(`${program} ${args.join(' ')} ${how}:\n${said}`);
  }
  return finished;
}

/** Identifies a process: pids are reused, but a pid with its start time is unique within a boot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat, in clock ticks since boot. */
  readonly startTicks: number;
  /** The boot of the host that the ticks refer to. */
  readonly bootId: string;
}

/** The identity of a process that runs now, or undefined. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The program's name is in parentheses and may hold anything: fields are counted from its end (man 5 proc).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return { pid, startTicks: Number(fields[19]), bootId: hostBootId() };
}

/** Whether the same process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  const now = identify(identity.pid);
  return now !== undefined && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

/** Pids of the children of a process. */
export function childrenOf(pid: number): number[] {
  const children = readProc(`/proc/${pid}/task/${pid}/children`) ?? '';
  return children.split(' ').filter(Boolean).map(Number);
}

/** Kills the process, if it is still the same one. */
export function killProcess(identity: ProcessIdentity): void {
  if (isRunning(identity)) process.kill(identity.pid, 'SIGKILL');
}

/** Polls until `condition` returns a value other than undefined or false. Throws after `timeoutMs`. */
export async function until<T>(
  what: string,
  timeoutMs: number,
  condition: () => Promise<T | undefined | false>,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) throw new Error(`timed out after ${Math.round(timeoutMs / 1000)} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended in the meantime.
  }
}

function hostBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
