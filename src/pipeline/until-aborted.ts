import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { Step } from '../step/index.ts';

/** How long a step may take to stop before the run continues without it, in milliseconds. */
const STOP_GRACE_MS = 15_000;

/**
 * Waits for work that the same signal stops. Work that does not stop is abandoned after a grace period: a hanging child
 * must not hang the run. Whatever error the stopped work throws, the reason is the stop.
 */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  step: Step,
  deadlineMs: number | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const abandoned = Promise.withResolvers<never>();
  const abandon = () => {
    timer = setTimeout(abandoned.reject, STOP_GRACE_MS, new Error(`${step.id} did not stop`));
  };
  if (signal.aborted) abandon();
  else signal.addEventListener('abort', abandon, { once: true });
  try {
    return await Promise.race([work, abandoned.promise]);
  } catch (error) {
    if (signal.aborted) throw stopError(signal.reason, step, deadlineMs, error);
    throw error;
  } finally {
    signal.removeEventListener('abort', abandon);
    clearTimeout(timer);
  }
}

/** Why a step was stopped: the run's own reason (a signal, the overall deadline), or the step's deadline. */
function stopError(reason: unknown, step: Step, deadlineMs: number | undefined, cause: unknown): MachineadmError {
  const known = cause instanceof MachineadmError ? cause : undefined;
  const why = reason instanceof MachineadmError ? reason : undefined;
  const limit = deadlineMs === undefined ? 'its time' : formatDuration(deadlineMs);
  return new MachineadmError({
    reason: why?.reason ?? 'DeadlinePassed',
    summary:
      why === undefined
        ? `the step "${stepTitle(step.id)}" did not end within ${limit}`
        : `${why.message} (in the step "${stepTitle(step.id)}")`,
    remedy:
      why?.remedy ?? 'Check what it waited for; a longer timeout helps only if the machine is slow rather than stuck.',
    evidence: known === undefined ? [] : [{ source: step.id, text: known.message }, ...known.evidence],
    transcript: known?.transcript ?? [],
    retryable: true,
    cause,
  });
}
