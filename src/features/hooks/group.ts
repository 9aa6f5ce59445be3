import { randomUUID } from 'node:crypto';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import type { Host } from '../../host/seam/host.ts';
import { hookFailed, hookStateLost, hookTimedOut, lost } from '../../shell/errors.ts';
import { hookScript, recordExit, removeHookScripts, savedState, writeHookScript } from '../../shell/script.ts';
import type { HookPhase } from '../../shell/single-script.ts';
import type { Execution } from '../../step/index.ts';
import { accountOf, requireDirectory } from './account.ts';
import { type HookEnvironment, hookEnvironment } from './inputs.ts';
import { packageLockOf, retriesOf } from './retry.ts';
import { type NextShell, type RunningGroup, runShell } from './shell.ts';

/** How far an earlier run came. Without a token the group runs again from its first entry. */
export type UnfinishedHook =
  | { readonly token: string; readonly completed: number; readonly kind: 'whole' | 'fresh' }
  | { readonly token: undefined; readonly why: string };

interface Group extends RunningGroup {
  /** The commands of the group that continues in the shell of this one. */
  readonly continuing?: readonly string[] | undefined;
  /** Where an earlier run came to, if its shell can be restored. */
  readonly from: Extract<UnfinishedHook, { readonly token: string }> | undefined;
  /** Makes a token the one by which the state of this group is known, durably, and gives it back. */
  readonly begin: (token: string) => string;
}

/**
 * Runs a group from its first entry to its last, whatever an earlier run did, and removes its files. Throws
 * `HookFailed` or `HookTimedOut`.
 *
 * @param id the name of the files with its commands and its state
 */
export async function runHookGroup(
  host: Host,
  id: string,
  phase: HookPhase,
  group: HookGroup,
  execution: Execution,
): Promise<void> {
  const script = hookScript(id);
  // The state of a group that was killed may hold secrets.
  await host.removeFile(script.state);
  try {
    await runScript(host, { id, phase, group, from: undefined, begin: (token) => token }, execution);
  } finally {
    await host.removeFile(script.state);
  }
}

/** @returns the token of the state that it left */
export async function runScript(host: Host, running: Group, execution: Execution): Promise<string> {
  const { phase, group } = running;
  const script = hookScript(running.id, group.user);
  await requireDirectory(host, phase, group);
  const account = await accountOf(host, phase, group);
  await removeHookScripts(host, running.id);
  const put = await writeHookScript(host, script, group, account, running.continuing);
  try {
    const env = await hookEnvironment(host, phase, group, put, account);
    return await runGroup(host, { ...running, account }, env, execution);
  } finally {
    execution.waitingFor(undefined);
    await removeHookScripts(host, running.id);
  }
}

/** Runs shells until all entries are done: one, unless an entry ends its shell by `exit`. */
async function runGroup(host: Host, running: Group, env: HookEnvironment, execution: Execution): Promise<string> {
  const { id, group, phase, from, begin } = running;
  const script = hookScript(id);
  const until = performance.now() + group.timeoutMs;
  const retries = retriesOf(id, phase, group, execution);
  const first = (): NextShell => ({ token: begin(randomUUID()), entry: 1, kind: 'fresh', ranHere: true });
  let next: NextShell =
    from === undefined
      ? first()
      : // What continues a script never begins with another shell.
        { token: begin(from.token), entry: from.completed + 1, kind: from.kind, ranHere: from.completed === 0 };
  while (next.entry <= group.commands.length) {
    if (next.kind !== 'whole' && next.kind !== 'fresh') throw hookStateLost(phase, group, next.entry, lost(next.kind));
    const shell = await runShell(host, running, env, next, until - performance.now(), execution);
    if (shell.timedOut) {
      const failure = hookTimedOut(phase, group, shell.entry, shell.lines);
      if (group.onError !== 'Continue') throw failure;
      execution.warn(`${failure.message} onError is Continue: the run continues without the rest of this hook.`);
      return next.token;
    }
    if (!shell.began && next.kind === 'whole') {
      if (next.ranHere) throw hookStateLost(phase, group, next.entry, NOT_RESTORED);
      execution.warn(`${id}: ${repeats(NOT_RESTORED)}`);
      next = first();
      continue;
    }
    if (group.onError === 'Script' && shell.insideEntry) {
      if (shell.status === 0 && phase === 'afterBootstrap') return next.token;
      throw hookFailed(phase, group, shell, [...shell.lines, 'its shell ended here, and the script with it']);
    }
    if (shell.status !== 0) {
      const failure = hookFailed(phase, group, shell, shell.lines, await packageLockOf(host, shell.lines));
      const before = await shellBefore(host, running, next.token, shell.entry);
      if (before !== undefined && (await retries.again(shell, until - performance.now()))) {
        next = before;
        continue;
      }
      if (before === undefined && group.retry !== undefined)
        execution.warn(`${id}: entry ${shell.entry} is not retried: the shell before it cannot be restored`);
      if (group.onError === 'Fail' || !shell.insideEntry) throw failure;
      execution.warn(`${failure.message} onError is Continue: the run continues.`);
    }
    if (!shell.insideEntry) return next.token;
    if (group.user !== undefined) {
      const isLast = shell.entry === group.commands.length;
      if (shell.entry > 1 && !isLast) throw hookStateLost(phase, group, shell.entry + 1, OTHER_USER);
      next = { token: next.token, entry: shell.entry + 1, kind: 'fresh', ranHere: true };
      continue;
    }
    await recordExit(host, script, next.token, shell.entry);
    const { kind } = await savedState(host, script, next.token);
    next = { token: next.token, entry: shell.entry + 1, kind, ranHere: true };
  }
  return next.token;
}

/** The shell in which an entry that failed may run again: as it was before the entry. undefined: it cannot be restored. */
async function shellBefore(
  host: Host,
  { id, group }: Group,
  token: string,
  entry: number,
): Promise<NextShell | undefined> {
  if (group.retry === undefined) return undefined;
  const { completed, kind } = await savedState(host, hookScript(id), token);
  if (completed !== entry - 1 || (kind !== 'whole' && kind !== 'fresh')) return undefined;
  return { token, entry, kind, ranHere: true };
}

export const OTHER_USER = 'that of another user than root is not saved';

const NOT_RESTORED = 'the shell that was restored is not like the one before';

export function repeats(why: string): string {
  return `all commands run again, including those that are done: the shell of the earlier run cannot be restored (${why})`;
}
