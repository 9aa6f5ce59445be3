import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

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
 * The highest resident memory, in MB, of the process started as `program` while a command runs: VmHWM of proc(5), read
 * every 20 ms, so what it takes in its last 20 ms is missed. Throws when it was never seen.
 */
export async function peakMemory(command: readonly string[], program: string): Promise<number> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { stdio: 'ignore' });
  let peak = 0;
  const timer = setInterval(() => {
    for (const process of readdirSync('/proc')) {
      if (/^\d+$/.test(process)) peak = Math.max(peak, residentPeak(`/proc/${process}`, program));
    }
  }, 20);
  await new Promise((resolve, reject) => child.on('exit', resolve).on('error', reject));
  clearInterval(timer);
  if (peak === 0) throw new Error(`${program} was not seen among the processes`);
  return peak;
}

/** 0 for any other process. Its name would not do: Node calls its main thread something else. */
function residentPeak(directory: string, program: string): number {
  try {
    if (readFileSync(`${directory}/cmdline`, 'utf8').split('\0')[0] !== program) return 0;
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`${directory}/status`, 'utf8'))?.[1] ?? 0) / 1000;
  } catch {
    return 0; // it ended between the listing and the reading
  }
}
