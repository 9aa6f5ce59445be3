import type { QueryHost } from '../../host/seam/host.ts';
import { sharesPidNamespace } from '../pid-namespace.ts';

/**
 * Processes with exactly this command line, as `pid:start` (clock ticks since boot): equal results mean the same
 * processes.
 */
export async function processesOf(host: QueryHost, command: readonly string[]): Promise<readonly string[]> {
  const wanted = `${command.join('\0')}\0`;
  const found: string[] = [];
  for (const pid of (await host.list('/proc')) ?? []) {
    if (!/^\d+$/.test(pid)) continue;
    if ((await host.readText(`/proc/${pid}/cmdline`).catch(gone)) !== wanted) continue;
    if (!(await sharesPidNamespace(host, pid, 1))) continue;
    const start = await startOf(host, pid);
    if (start !== undefined) found.push(`${pid}:${start}`);
  }
  return found;
}

/** Those of these processes that are still running. */
export async function stillRunning(host: QueryHost, processes: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const process of processes) {
    const [pid = '', start] = process.split(':');
    if ((await startOf(host, pid)) === start) found.push(process);
  }
  return found;
}

async function startOf(host: QueryHost, pid: string): Promise<string | undefined> {
  // proc_pid_stat(5): the name in parentheses may contain blanks; starttime is the twentieth field after it.
  const stat = (await host.readText(`/proc/${pid}/stat`).catch(gone)) ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

/** A process that ends while it is read does not count. */
const gone = (): undefined => undefined;
