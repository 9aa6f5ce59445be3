import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';

/** The error of a command line that is understood but cannot be followed: options that contradict each other, a wrong value. */
export function usageError(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'UsageInvalid', summary, remedy });
}
