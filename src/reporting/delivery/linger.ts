import { setTimeout as sleep } from 'node:timers/promises';

/** What is known after each round of deliveries. */
export interface Round {
  /** When the next try is due of what waits, milliseconds from now; undefined where there is nothing to try. */
  readonly nextInMs?: number | undefined;
}

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
export const LINGER_MS = 600_000;
/** What a round has that is about one try. */
const ONE_TRY_MS = 10_000;

/**
 * A round of deliveries, then one for each try that falls due later, each at the moment that was drawn for it. In between
 * nothing is held. Without the later rounds all machines that a receiver could not take at once would have to wait for
 * their timer, and the few that it did not take then would keep it busy for long.
 * @param deliver one round, within so many milliseconds; undefined = somebody else delivers now, who needs no help
 * @returns the last round that was one
 */
export async function untilTaken<R extends Round>(
  deliver: (withinMs: number, isFirst: boolean) => Promise<R | undefined>,
  { withinMs, lingerMs, signal }: Lingering,
): Promise<R | undefined> {
  const untilMs = performance.now() + withinMs + lingerMs;
  let last = await deliver(withinMs, true);
  while (lingerMs > 0 && last?.nextInMs !== undefined && !signal.aborted) {
    if (performance.now() + last.nextInMs > untilMs) break;
    await sleep(last.nextInMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const next = await deliver(ONE_TRY_MS, false);
    if (next === undefined) break;
    last = next;
  }
  return last;
}
