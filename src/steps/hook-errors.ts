import { type Evidence, MachineadmError } from '../document/errors.ts';
import type { HookGroup } from '../document/model.ts';
import { redact } from '../document/secret.ts';

const LONGEST_NAME = 80;

/** A failing entry, by its number and the beginning of its text. `entry` is counted from 1. */
export function hookFailed(
  phase: string,
  group: HookGroup,
  entry: number,
  status: number,
  lines: readonly string[],
): MachineadmError {
  return new MachineadmError({
    reason: phase === 'afterBootstrap' ? 'AfterBootstrapHookFailed' : 'HookFailed',
    summary: `The hook ${phase} failed at ${describe(group, entry)}: exit status ${status}${meaning(status)}.`,
    remedy: `${remedyOf(status)} The next run goes on with this entry; those before it are not repeated.`,
    evidence: evidence(phase, entry, lines),
  });
}

/** A group that did not end within its timeout. */
export function hookTimedOut(
  phase: string,
  group: HookGroup,
  entry: number,
  lines: readonly string[],
): MachineadmError {
  return new MachineadmError({
    reason: 'HookTimedOut',
    ...(phase === 'afterBootstrap' ? { exit: 'AfterHookFailed' as const } : {}),
    summary: `The hook ${phase} did not end within ${group.timeoutMs / 1000} s; it was killed in ${describe(group, entry)}.`,
    remedy: `Find out what that entry waits for, or raise host.hooks.${phase}.timeout. The next run goes on with it.`,
    retryable: true,
    evidence: evidence(phase, entry, lines),
  });
}

function describe(group: HookGroup, entry: number): string {
  const text = redact(group.commands[entry - 1] ?? '');
  const line =
    text
      .split('\n')
      .find((part) => part.trim() !== '')
      ?.trim() ?? '';
  const name = line.length > LONGEST_NAME || line !== text.trim() ? `${line.slice(0, LONGEST_NAME)}…` : line;
  return `entry ${entry} of ${group.commands.length} (${name})`;
}

/** POSIX XCU 2.8.2. */
function meaning(status: number): string {
  if (status === 126) return ' (found but not executable)';
  if (status === 127) return ' (command not found)';
  return status > 128 && status <= 192 ? ` (killed by signal ${status - 128})` : '';
}

function remedyOf(status: number): string {
  if (status === 127) return 'Install the program before this run, or correct its name.';
  return 'Correct the command, or what it depends on; its last output is the evidence.';
}

function evidence(phase: string, entry: number, lines: readonly string[]): readonly Evidence[] {
  return lines.map((text) => ({ source: `hook ${phase}, entry ${entry}`, text }));
}
