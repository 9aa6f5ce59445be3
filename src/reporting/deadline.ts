import { formatDuration } from '@machineadm/document/units.ts';

/** The work did not end in time. */
export class DeadlineExceeded extends Error {
  constructor(ms: number) {
    super(`did not end within ${formatDuration(ms)}`);
    this.name = 'DeadlineExceeded';
  }
}

/**
 * Runs work that may hang or ignore its signal: settles with it, or rejects with `DeadlineExceeded` after `ms`, or with
 * the reason of `until` when that is aborted before; the work's signal is aborted then. What the work does afterwards is
 * nobody's business any more, a late rejection included, and no timer is left that would keep the process alive.
 */
export async function withDeadline<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  until?: AbortSignal,
): Promise<T> {
  until?.throwIfAborted();
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const giveUp = (reason: unknown): void => {
    late.reject(reason);
    controller.abort(reason);
  };
  const timer = setTimeout(() => giveUp(new DeadlineExceeded(ms)), ms);
  const stop = (): void => giveUp(until?.reason);
  until?.addEventListener('abort', stop, { once: true });
  try {
    // An async function turns a synchronous throw into a rejection.
    const running = (async () => work(controller.signal))();
    running.catch(() => undefined);
    return await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
    until?.removeEventListener('abort', stop);
  }
}
