import { setTimeout as sleep } from 'node:timers/promises';

/** When the next attempt of each sink with pending events is due, in milliseconds from now, by the name of the sink. */
export type Due = ReadonlyMap<string, number>;

export interface RetryWindow {
  /** How long the first round lasts. */
  readonly withinMs: number;
  /** How long after that to wait for due attempts and make them. 0: not at all. */
  readonly lingerMs: number;
  readonly signal: AbortSignal;
}

/**
 * Events that a receiver could not accept during a run's delivery are retried for this long, at random times;
 * afterwards the timer retries them.
 */
export const RETRY_WINDOW_MS = 600_000;
/** The time of a round that is for one attempt. */
const ONE_TRY_MS = 10_000;

/**
 * A round of deliveries to all sinks, then one to each sink whose next attempt is due, at its random time. No lock is
 * held in between. Without the later rounds all machines that a receiver could not serve at once would have to wait for
 * their timer.
 * @param deliver one round, within this many milliseconds, to these sinks (undefined = all); returns undefined where
 * another process delivers
 */
export async function untilTaken(
  deliver: (withinMs: number, only: ReadonlySet<string> | undefined) => Promise<Due | undefined>,
  { withinMs, lingerMs, signal }: RetryWindow,
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
    // A timer may fire a fraction of a millisecond early: the awaited attempt is due.
    const only = new Set([...dueMs].filter(([, ms]) => ms <= nextMs).map(([sink]) => sink));
    for (const sink of only) dueMs.delete(sink);
    due = await deliver(ONE_TRY_MS, only);
  }
}
