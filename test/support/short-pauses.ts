import { syncBuiltinESMExports } from 'node:module';
import { after, before } from 'node:test';
import timers from 'node:timers/promises';

/** A pause of one second takes 20 ms. */
const FACTOR = 50;

/**
 * In the tests of a `describe`, what looks again after a pause (`node:timers/promises`) does so sooner, and `performance.now`
 * has advanced by the whole pause. Timers are real, unlike those of `fakeClock`: for tests with servers and processes that
 * answer at once.
 */
export function shortPauses(): void {
  replacePauses(async (real, ms = 1, ...rest) => {
    const result = await real(ms / FACTOR, ...rest);
    return { result, savedMs: ms - ms / FACTOR };
  });
}

/** The same, and a pause ends at once: for tests of which nothing is worth waiting for. */
export function noPauses(): void {
  replacePauses(async (_real, _ms, value, { signal } = {}) => {
    signal?.throwIfAborted();
    return { result: value, savedMs: 0 };
  });
}

type Pause = typeof timers.setTimeout;

function replacePauses(
  pause: (
    real: Pause,
    ms?: number,
    value?: unknown,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<{ readonly result: unknown; readonly savedMs: number }>,
): void {
  const { setTimeout: real } = timers;
  const now = performance.now.bind(performance);
  let saved = 0;
  const set = (replacement: unknown): void => {
    Object.assign(timers, { setTimeout: replacement });
    syncBuiltinESMExports();
  };
  before(() => {
    performance.now = () => now() + saved;
    set(async (...args: [number?, unknown?, object?]) => {
      const { result, savedMs } = await pause(real, ...args);
      saved += savedMs;
      return result;
    });
  });
  after(() => {
    performance.now = now;
    set(real);
  });
}
