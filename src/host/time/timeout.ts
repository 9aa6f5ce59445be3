import { formatDuration } from '@machineadm/document/text/units.ts';

export class TimedOut extends Error {
  constructor(ms: number) {
    super(`did not end within ${formatDuration(ms)}`);
    this.name = 'TimedOut';
  }
}

/**
 * Waits for work that may hang: settles with it, or rejects with the reason of the signal when that is aborted first.
 * The later result or rejection of the work is ignored.
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * The same with a time limit: rejects with `TimedOut` after `ms`, or with the reason of `until`. The work's signal is
 * then aborted. No timer remains that would keep the process alive.
 */
export async function withTimeout<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  until?: AbortSignal,
): Promise<T> {
  until?.throwIfAborted();
  const limit = new AbortController();
  // What came in time is handled first, also where this process got no processor time.
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    late = setImmediate(() => limit.abort(new TimedOut(ms)));
  }, ms);
  const signal = until === undefined ? limit.signal : AbortSignal.any([limit.signal, until]);
  try {
    // An async function turns a synchronous throw into a rejection.
    return await abortable((async () => work(signal))(), signal);
  } finally {
    clearTimeout(timer);
    clearImmediate(late);
  }
}
