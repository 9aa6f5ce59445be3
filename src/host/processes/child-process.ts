import { MachineadmError } from '@machineadm/document/errors.ts';
import type { Command } from '../seam/host.ts';

/** What `stdio` says of the descriptors after standard error. */
export function moreDescriptors(command: Command): ('ignore' | 'pipe')[] {
  const last = command.onDescriptorLine?.descriptor;
  if (last === undefined) return [];
  return Array.from({ length: last - 2 }, (_, index) => (index + 3 === last ? 'pipe' : 'ignore'));
}

/** Why a command was ended by its signal: the signal's own reason, where it has one. */
export function commandAborted(command: Command, signal: AbortSignal): MachineadmError {
  if (signal.reason instanceof MachineadmError) return signal.reason;
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${command.program} was ended because the run was aborted`,
    remedy: 'Run again; what was done so far is met by the next run.',
    retryable: true,
    cause: signal.reason,
  });
}
