/** The work did not end in time. */
export class DeadlineExceeded extends Error {
  constructor(ms: number) {
    super(`did not end within ${ms} ms`);
    this.name = 'DeadlineExceeded';
  }
}

/**
 * Runs work that may hang or ignore its signal: settles with it, or rejects with `DeadlineExceeded` after `ms` and
 * aborts the signal. What the work does afterwards is nobody's business any more, a late rejection included.
 */
export async function withDeadline<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new DeadlineExceeded(ms);
    late.reject(error);
    controller.abort(error);
  }, ms);
  try {
    // An async function turns a synchronous throw into a rejection.
    const running = (async () => work(controller.signal))();
    running.catch(() => undefined);
    return await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
