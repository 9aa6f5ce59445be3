import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

interface Timer {
  readonly dueMs: number;
  readonly fire: () => unknown;
}

export interface FakeClock extends Disposable {
  /** The milliseconds that have passed on it. */
  readonly passedMs: number;
  /** How long each pause was to be that somebody began, in their order. */
  readonly pauses: readonly number[];
  /** The time of day by it, as `Date.now` gives it. */
  readonly now: () => number;
  /** Has this done when so much time has passed; what is asynchronous has its time for it. */
  readonly at: (ms: number, action: () => unknown) => void;
  /** Lets this much time pass, and all that is due meanwhile happen. */
  readonly pass: (ms: number) => Promise<void>;
  /** Lets time pass from one timer to the next until the promise has settled. */
  readonly until: <T>(work: Promise<T>) => Promise<T>;
}

/** What Node can count; a longer timer fires after a millisecond (doc/api/timers.md). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Takes the place of the clocks (`Date.now`, `performance.now`) and of the pauses (`node:timers/promises`) until it is
 * disposed of. It stands still unless a test lets it go on, so that a test neither waits nor judges how busy the machine is.
 * Node's own mock replaces neither `performance.now` nor what was imported by name from `node:timers`.
 *
 * With `deadlines`, `setTimeout` and `AbortSignal.timeout` follow it too: for what does without processes and connections,
 * whose time is real.
 */
export function fakeClock({ deadlines = false }: { readonly deadlines?: boolean } = {}): FakeClock {
  const real = {
    pause: timers.setTimeout,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    timeout: AbortSignal.timeout,
    dateNow: Date.now,
    performanceNow: performance.now,
  };
  const begun = { date: real.dateNow(), performance: Math.round(real.performanceNow.call(performance)) };
  const waiting = new Set<Timer>();
  const pauses: number[] = [];
  let passedMs = 0;

  const start = (ms: number, fire: () => unknown): Timer => {
    const inMs = ms > LONGEST_TIMER_MS || !(ms >= 1) ? Math.min(1, Math.max(0, ms)) : ms;
    const timer = { dueMs: passedMs + inMs, fire };
    waiting.add(timer);
    return timer;
  };
  const pause = <T>(ms = 1, value?: T, { signal }: { readonly signal?: AbortSignal } = {}): Promise<T | undefined> => {
    if (signal?.aborted === true) return Promise.reject(abortError(signal));
    pauses.push(ms);
    return new Promise((resolve, reject) => {
      const timer = start(ms, () => resolve(value));
      const stop = (): void => {
        waiting.delete(timer);
        reject(abortError(signal));
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
  };

  Object.assign(timers, { setTimeout: pause });
  syncBuiltinESMExports();
  Date.now = () => begun.date + passedMs;
  performance.now = () => begun.performance + passedMs;
  if (deadlines) {
    Object.assign(globalThis, {
      setTimeout: (fire: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
        Object.assign(
          start(ms, () => fire(...args)),
          { ref: () => undefined, unref: () => undefined },
        ),
      clearTimeout: (timer: Timer | undefined) => (timer === undefined ? undefined : waiting.delete(timer)),
    });
    AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      start(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
      return controller.signal;
    };
  }

  /** What can happen without time happens: a real millisecond, for processes and connections. */
  const turn = async (): Promise<void> => {
    await new Promise((resolve) => real.setTimeout(resolve, 1));
    await new Promise((resolve) => setImmediate(resolve));
  };
  const next = (): Timer | undefined => [...waiting].sort((a, b) => a.dueMs - b.dueMs)[0];
  const fire = async (timer: Timer): Promise<void> => {
    waiting.delete(timer);
    passedMs = Math.max(passedMs, timer.dueMs);
    await timer.fire();
    await turn();
  };

  return {
    get passedMs() {
      return passedMs;
    },
    pauses,
    now: () => Date.now(),
    at: (ms, action) => void start(ms, action),
    async pass(ms) {
      const endMs = passedMs + ms;
      await turn();
      for (let timer = next(); timer !== undefined && timer.dueMs <= endMs; timer = next()) await fire(timer);
      passedMs = endMs;
    },
    async until(work) {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      work.then(settle, settle);
      for (await turn(); !isSettled; ) {
        const timer = next();
        if (timer === undefined) await turn();
        else await fire(timer);
      }
      return await work;
    },
    [Symbol.dispose]() {
      Object.assign(timers, { setTimeout: real.pause });
      syncBuiltinESMExports();
      Date.now = real.dateNow;
      performance.now = real.performanceNow;
      Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
      AbortSignal.timeout = real.timeout;
    },
  };
}

/** As `node:timers/promises` rejects. */
function abortError(signal: AbortSignal | undefined): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}
