import { spawn, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';

export interface Figures {
  /** Wall time of one run, milliseconds. */
  readonly minMs: number;
  readonly medianMs: number;
  /** Mean user and system time of one run with all its children, milliseconds. */
  readonly cpuMs: number;
}

/** Runs a command `runs` times, one after the other, after one run that warms the caches. Throws when it fails. */
export async function measure(command: readonly string[], runs: number): Promise<Figures> {
  const [program = '', ...args] = command;
  const once = (): number => {
    const began = performance.now();
    const { status, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr.trim()}`);
    return performance.now() - began;
  };
  once();
  const walls = Array.from({ length: runs }, once).sort((a, b) => a - b);
  return { minMs: walls[0] ?? 0, medianMs: walls[Math.floor(runs / 2)] ?? 0, cpuMs: cpu(command, runs) };
}

/** bash's `times` reads getrusage(RUSAGE_CHILDREN), which Node does not offer; in milliseconds. */
function cpu(command: readonly string[], runs: number): number {
  const script = 'runs=$1; shift; for ((i = 0; i < runs; i++)); do "$@" >/dev/null 2>&1; done; times';
  const { stdout } = spawnSync('bash', ['-c', script, 'bash', `${runs}`, ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, LC_ALL: 'C' },
  });
  const children = stdout.trimEnd().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map((part) => Number(part[1]) * 60 + Number(part[2]));
  return (seconds.reduce((sum, each) => sum + each, 0) * 1000) / runs;
}

/**
 * The highest resident memory, in MB, of the child process called `name` while a command runs: VmHWM of proc(5), read
 * every 20 ms, so what a process takes in its last 20 ms is missed.
 */
export async function peakMemory(command: readonly string[], name: string): Promise<number> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore' });
  let peak = 0;
  const timer = setInterval(() => {
    for (const file of globSync('/proc/[0-9]*/status')) peak = Math.max(peak, residentPeak(file, name));
  }, 20);
  await new Promise((resolve, reject) => child.on('exit', resolve).on('error', reject));
  clearInterval(timer);
  return peak;
}

function residentPeak(file: string, name: string): number {
  try {
    const text = readFileSync(file, 'utf8');
    if (!text.startsWith(`Name:\t${name}\n`)) return 0;
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1000;
  } catch {
    return 0; // it ended between the listing and the reading
  }
}
