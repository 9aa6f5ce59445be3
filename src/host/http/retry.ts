import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** No attempt begins later than this after the first one. */
  readonly budgetMs: number;
  /** Whether to retry after a failure. */
  readonly isRetryable: (error: unknown) => boolean;
  readonly signal?: AbortSignal;
  /** Replaced by tests. */
  readonly wait?: (ms: number) => Promise<unknown>;
  readonly random?: () => number;
  readonly now?: () => number;
}

const FIRST_CEILING_MS = 250;
const CEILING_MS = 5_000;

/**
 * Retries until an attempt succeeds, the budget is used up or a failure is permanent. Each pause is random between zero
 * and a ceiling that doubles ("full jitter"), so that machines that boot together do not retry together.
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
