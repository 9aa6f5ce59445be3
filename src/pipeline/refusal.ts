import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';

/**
 * The same error as a refusal, because it happened before any change: a reason for a failed step elsewhere refuses the
 * run here. Other errors are returned unchanged.
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
