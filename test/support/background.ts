import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from './agent.ts';

/**
 * Ends what runs of earlier tests left in the background, the deliverer of their reports, and waits until it has: it would
 * go on writing into directories that the next test removes. For throw-away machines, whose processes are the tests' own.
 */
export async function endBackground(): Promise<void> {
  for (;;) {
    const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isAgent(name));
    if (running.length === 0) return;
    for (const pid of running) kill(Number(pid));
    await sleep(20);
  }
}

function isAgent(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(MAIN);
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
