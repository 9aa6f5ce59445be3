import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Command, CommandResult, Query } from '../seam/host.ts';

const QUERY_TIMEOUT_MS = 30_000;
/** In the words of a shell. */
const NOT_INSTALLED_STATUS = 127;

/** Runs a query. A program that cannot be started has status 127, as in a shell. */
export async function resultOfQuery(
  { program, args, input, timeoutMs = QUERY_TIMEOUT_MS }: Query,
  run: (command: Command) => Promise<CommandResult>,
): Promise<CommandResult> {
  try {
    return await run({ program, args, ...(input === undefined ? {} : { input }), timeoutMs });
  } catch (error) {
    if (!(error instanceof MachineadmError) || error.reason !== 'HostStepFailed') throw error;
    return notStarted(error.message);
  }
}

/** The result for a program that does not exist, and why. */
export function notStarted(stderr: string): CommandResult {
  return { status: NOT_INSTALLED_STATUS, stdout: '', stderr, timedOut: false };
}

/** The reason why a command was ended by its signal: the signal's own reason, where it has one. */
export function commandAborted(command: Command, signal: AbortSignal): MachineadmError {
  if (signal.reason instanceof MachineadmError) return signal.reason;
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${command.program} was ended because the run was aborted`,
    remedy: 'Run again. The next run continues with what is not done yet.',
    retryable: true,
    cause: signal.reason,
  });
}
