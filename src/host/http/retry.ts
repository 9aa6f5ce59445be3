import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** No attempt begins later than this after the first. */
  readonly budgetMs: number;
  /** Whether a failure is worth another attempt. */
  readonly isRetryable: (error: unknown) => boolean;
  readonly signal?: AbortSignal;
  /** For tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
  readonly random?: () => number;
  readonly now?: () => number;
}

const FIRST_CEILING_MS = 250;
const CEILING_MS = 5_000;

/**
 * Attempts until one succeeds, the budget is used up or a failure is not worth another. The pause is drawn anew from
 * zero up to a ceiling that doubles ("full jitter"), so that many machines that boot together do not ask together.
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { random = Math.random, now = () => performance.now() } = options;
  const wait = options.wait ?? ((ms: number) => sleep(ms, undefined, signalOf(options.signal)));
  const begun = now();
  for (let ceiling = FIRST_CEILING_MS; ; ceiling = Math.min(CEILING_MS, ceiling * 2)) {
    try {
      return await attempt();
    } catch (error) {
      const pause = random() * ceiling;
      if (!options.isRetryable(error) || now() - begun + pause > options.budgetMs) throw error;
      await wait(pause);
    }
  }
}

function signalOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
