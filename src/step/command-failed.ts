import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { CommandResult } from '../host/seam/host.ts';

const EVIDENCE_LINES = 5;

/** The error of a command that ended with a status above 0, where that has no reason of its own. */
export function hostStepFailed(command: readonly string[], result: CommandResult): MachineadmError {
  const line = command.join(' ');
  const said = textLines(result.stdout, result.stderr);
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${line} ${result.timedOut ? 'did not end in time' : `ended with status ${result.status}`}`,
    remedy: `Run ${line} in a root shell, fix the reported problem, then run again.`,
    evidence: evidenceFrom(command[0] ?? '', said.slice(-EVIDENCE_LINES)),
    retryable: result.timedOut,
  });
}
