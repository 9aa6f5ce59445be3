import { MachineadmError } from '@machineadm/document/errors.ts';

/**
 * The same error as one that was met before any change: what is called a failing host step elsewhere refuses the run
 * there. Any other error is given back as it is.
 */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof MachineadmError) || error.exit !== 'HostStepFailed') return error;
  const { reason, message: summary, remedy, evidence, retryable, transcript } = error;
  return new MachineadmError({
    reason,
    summary,
    remedy,
    evidence,
    retryable,
    transcript,
    exit: 'Refused',
    cause: error,
  });
}
