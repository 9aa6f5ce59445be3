import type { HookGroup } from '@machineadm/document/model/index.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { hookReasonIn, remedyOfHookReason } from '@machineadm/document/outcomes/hook-reasons.ts';
import type { PackageLock } from '@machineadm/document/outcomes/package-lock.ts';
import { describeKill, type Kill, remedyOfKill } from '../host/commands/killed.ts';
import type { StateKind } from './driver.ts';

/** How the failing entry ended. */
export interface FailedEntry {
  /** Counted from 1. */
  readonly entry: number;
  readonly status: number;
  readonly kill: Kill | undefined;
}

/** A failing entry, by its number. */
export function hookFailed(
  phase: string,
  group: HookGroup,
  { entry, status, kill }: FailedEntry,
  lines: readonly string[],
  locked?: PackageLock,
): MachineadmError {
  if (locked !== undefined) return packageManagerLocked(phase, group, entry, lines, locked);
  const counted = kill?.outOfMemory === undefined ? [] : [kill.outOfMemory];
  const told = phase === 'beforeBootstrap' && kill === undefined ? hookReasonIn(lines) : undefined;
  const why = told?.text ?? `exit status ${status}${meaning(status, kill)}`;
  return new MachineadmError({
    reason: told?.reason ?? reasonOf(phase),
    summary: `The hook ${phase} failed at ${describe(phase, group, entry)}: ${why}.`,
    remedy: `${told === undefined ? remedyFor(status, kill) : remedyOfHookReason(told.reason)} ${whatIsRepeated(group)}`,
    evidence: [...counted, ...evidence(phase, entry, lines)],
    retryable: kill !== undefined || told !== undefined,
  });
}

/** An entry whose package manager found its lock held by another process: time heals it. */
function packageManagerLocked(
  phase: string,
  group: HookGroup,
  entry: number,
  lines: readonly string[],
  { path, pid, name }: PackageLock,
): MachineadmError {
  const holder = pid === undefined ? 'another process' : `process ${pid}${name === undefined ? '' : ` (${name})`}`;
  const retry =
    group.retry === undefined ? `set host.hooks.${phase}.retry` : `raise host.hooks.${phase}.retry.attempts`;
  const find = pid === undefined ? `Find the holder with "fuser -v ${path ?? '/var/lib/dpkg/lock-frontend'}". ` : '';
  return new MachineadmError({
    reason: 'PackageManagerLocked',
    exit: phase === 'afterBootstrap' ? 'AfterHookFailed' : 'HostStepFailed',
    summary: `The hook ${phase} failed at ${describe(phase, group, entry)}: ${holder} holds ${path === undefined ? 'the lock' : `the lock ${path}`} of the package manager.`,
    remedy: `${find}To wait for the lock in the run, ${retry}. ${whatIsRepeated(group)}`,
    evidence: evidence(phase, entry, lines),
    retryable: true,
  });
}

/** An entry that cannot run, for the shell of the entries before it is gone and cannot be restored. */
export function hookStateLost(phase: string, group: HookGroup, entry: number, why: string): MachineadmError {
  return new MachineadmError({
    reason: reasonOf(phase),
    summary: `The hook ${phase} failed before ${describe(phase, group, entry)}: ${entry === 1 ? 'it continues the shell of beforeBootstrap, which' : 'the entry before it ended the shell of the group, and the shell'} cannot be restored (${why}).`,
    remedy:
      entry === 1
        ? 'Define functions and aliases again in host.hooks.afterBootstrap, set host.hooks.beforeBootstrap.shell to bash, or remove singleScript; then run again.'
        : 'End that entry with "return" instead of "exit", merge both entries, or set shell to bash; then run again.',
    evidence: entry === 1 ? [] : evidence(phase, entry - 1, ['exit ended its shell']),
  });
}

/** What a state of this kind cannot give back to a shell. */
export function lost(kind: StateKind): string {
  if (kind === 'functions') return 'sh cannot write down its functions and aliases';
  if (kind === 'jobs') return 'programs of it ran in the background';
  if (kind === 'directories') return 'its stack of directories is not empty';
  return 'it had changed its descriptors or limits';
}

export function reasonOf(phase: string): 'AfterBootstrapHookFailed' | 'HookFailed' {
  return phase === 'afterBootstrap' ? 'AfterBootstrapHookFailed' : 'HookFailed';
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
    summary: `The hook ${phase} did not end within ${group.timeoutMs / 1000} s; it was killed in ${describe(phase, group, entry)}.`,
    remedy: `Find out what that entry waits for, or raise host.hooks.${phase}.timeout. ${whatIsRepeated(group)}`,
    retryable: true,
    evidence: evidence(phase, entry, lines),
  });
}

/**
 * Names the entry by its number and field. Its text is never shown: commands contain tokens and passwords that nobody
 * declared as secrets.
 */
function describe(phase: string, group: HookGroup, entry: number): string {
  return `entry ${entry} of ${group.commands.length} (host.hooks.${phase}.commands[${entry - 1}])`;
}

/** POSIX XCU 2.8.2. */
function meaning(status: number, kill: Kill | undefined): string {
  if (status === 126) return ' (found but not executable)';
  if (status === 127) return ' (command not found)';
  return kill === undefined ? '' : ` (it ${describeKill(kill)})`;
}

function remedyFor(status: number, kill: Kill | undefined): string {
  if (kill !== undefined) return remedyOfKill(kill, 'the program');
  if (status === 127) return 'Install the program before this run, or correct its name.';
  return 'Correct the command, or what it depends on; its last output is the evidence.';
}

/** The shells of root on Linux can be restored; those of other users and of Windows begin again. */
function whatIsRepeated({ shell, user }: HookGroup): string {
  return (shell === 'sh' || shell === 'bash') && user === undefined
    ? 'The next run continues with this entry.'
    : 'The next run begins with the first entry.';
}

function evidence(phase: string, entry: number, lines: readonly string[]): readonly Evidence[] {
  return lines.map((text) => ({ source: `hook ${phase}, entry ${entry}`, text }));
}
