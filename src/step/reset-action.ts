import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { Command, Host } from '../host/seam/host.ts';
import type { Resource } from '../host/seam/resource.ts';

/** One thing that a reset does, or says that it leaves. `--dry-run` and the reset itself work on the same list. */
export interface ResetAction {
  /** One line. undefined: it completes the actions before it. */
  readonly summary?: string;
  readonly resource?: Resource;
  /** The states in which a killed reset may leave a resource, as marks (`markOf`). Another reset recognizes them and completes them. */
  readonly unsettles?: readonly (readonly [Resource, string])[];
  /** Set if it does nothing while there are files of others. */
  readonly isFull?: boolean;
  /** Fingerprint of a copy that is kept, because its original stays changed. */
  readonly keeps?: string;
  /** Absent: it is only reported. An interrupted reset may have done it already. */
  perform?(host: Host, signal: AbortSignal): Promise<void>;
}

/** Longer than unmounting and swapoff take on a slow disk. */
const COMMAND_TIMEOUT_MS = 120_000;

/** Runs a command of a reset. Throws `ResetFailed` with what it said. */
export async function runOrFail(
  host: Host,
  signal: AbortSignal,
  command: Pick<Command, 'program' | 'args' | 'input'>,
): Promise<void> {
  const { status, stderr } = await host.run({ ...command, timeoutMs: COMMAND_TIMEOUT_MS, signal });
  if (status === 0) return;
  const said = redact(lastLine(stderr));
  throw new MachineadmError({
    reason: 'ResetFailed',
    summary: `${command.program} ended with status ${status}${said === '' ? '' : `: ${said}`}`,
    remedy: 'Correct the cause, and run machineadm reset again: it continues where it stopped.',
    evidence: [{ source: command.program, text: said }],
    retryable: true,
  });
}
