/**
 * Does the work until SIGTERM or SIGINT aborts it. Afterwards these signals do again what they did before.
 */
export async function untilSignal<T>(
  work: (signal: AbortSignal) => Promise<T>,
  reasonFor?: (signal: NodeJS.Signals) => Error,
): Promise<T> {
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => stop.abort(reasonFor?.(signal));
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    return await work(stop.signal);
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}
