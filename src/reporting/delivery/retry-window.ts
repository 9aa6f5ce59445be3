import { setTimeout as sleep } from 'node:timers/promises';

/** When the next try of each sink is due that something waits for, milliseconds from now, by the name of the sink. */
export type Due = ReadonlyMap<string, number>;

export interface Lingering {
  /** How long the first round goes on. */
  readonly withinMs: number;
  /** How long after that a try that is due is waited for, and made. 0: not at all. */
  readonly lingerMs: number;
  readonly signal: AbortSignal;
}

/**
 * What a receiver could not take in the time of a run's deliverer is tried again for so long, at moments of each machine's own;
 * then the timer comes to it.
 */
export const RETRY_WINDOW_MS = 600_000;
/** What a round has that is about one try. */
const ONE_TRY_MS = 10_000;

/**
 * A round of deliveries to all sinks, then one to each whose next try falls due, at the moment that was drawn for it. In
 * between nothing is held. Without the later rounds all machines that a receiver could not take at once would have to wait
 * for their timer, and the few that it did not take then would keep it busy for long.
 * @param deliver one round, within so many milliseconds, to these sinks (undefined = all); it gives undefined where somebody
 * else delivers now, who needs no help
 */
export async function untilTaken(
  deliver: (withinMs: number, only: ReadonlySet<string> | undefined) => Promise<Due | undefined>,
  { withinMs, lingerMs, signal }: Lingering,
): Promise<void> {
  const untilMs = performance.now() + withinMs + lingerMs;
  const dueMs = new Map<string, number>();
  let due = await deliver(withinMs, undefined);
  while (lingerMs > 0 && due !== undefined) {
    for (const [sink, inMs] of due) dueMs.set(sink, performance.now() + inMs);
    const nextMs = Math.min(...dueMs.values());
    if (nextMs > untilMs) return;
    await sleep(Math.max(nextMs - performance.now(), 0), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    // A timer may be early by a fraction of a millisecond: the one that was waited for is due.
    const only = new Set([...dueMs].filter(([, ms]) => ms <= nextMs).map(([sink]) => sink));
    for (const sink of only) dueMs.delete(sink);
    due = await deliver(ONE_TRY_MS, only);
  }
}
