import { MachineadmError } from '@machineadm/document/errors.ts';
import { lastLine } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import type { Command, Host } from '../../host/seam/host.ts';
import type { Resource } from '../../host/seam/resource.ts';

/** One thing that a reset does, or says that it leaves. `--dry-run` and the reset itself work on the same list. */
export interface ResetAction {
  /** One line. undefined: it completes the actions before it. */
  readonly summary?: string;
  readonly resource?: Resource;
  /** What a killed reset may leave in between, as marks (`markOf`): it is ours, so that another reset completes it. */
  readonly unsettles?: readonly (readonly [Resource, string])[];
  /** Set where it does nothing as long as others have files there. */
  readonly isFull?: boolean;
  /** Fingerprint of a copy that stays, because what it is of stays changed. */
  readonly keeps?: string;
  /** Absent: it is only said. It may meet that an interrupted reset has done it. */
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
