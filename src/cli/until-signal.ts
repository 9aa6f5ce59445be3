import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';

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

/** The reason of `what` that a signal ended: "the run". */
export function interrupted(what: string, signal: NodeJS.Signals): MachineadmError {
  return new MachineadmError({
    reason: 'Interrupted',
    summary: `${what} was ended by ${signal === 'SIGINT' ? 'Ctrl-C (SIGINT)' : signal}`,
    remedy: 'Run it again: it resumes where it stopped.',
    retryable: true,
  });
}
