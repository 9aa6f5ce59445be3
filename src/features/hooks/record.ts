import { createHash } from 'node:crypto';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { RanRecord, StepRecord } from '../../step/index.ts';

/** What a reset keeps of hooks. */
export const HOOKS_LEFT = 'the changes that the commands of host.hooks made: machineadm does not track them';

/** The digests that identify a group: each command together with its environment, user and directory. */
export function digests({ commands, environment, user, workingDirectory }: HookGroup): readonly string[] {
  const parts = [environment && JSON.stringify(environment), user && `user ${user}`, workingDirectory];
  const seen = parts.map((part) => (part === undefined ? '' : `\0${part}`)).join('');
  return commands.map((command) => createHash('sha256').update(command).update(seen).digest('hex'));
}

/** The content of a group as one text, as the journal tells contents apart (`contentOf`). */
function contentOf(group: HookGroup): string {
  return digests(group).join();
}

/** Whether the commands that last ran here are those of the group. */
function isSame(group: HookGroup, note: unknown): boolean {
  const known = member(note, 'commands');
  return !Array.isArray(known) || known.join() === contentOf(group);
}

/**
 * Whether a group has nothing to do in this run: its `rerun` decides whether what was done before counts. A group with
 * another content is another group, which has not run yet.
 */
export function isDone(group: HookGroup, changeId: string, record: RanRecord): boolean {
  // Earlier versions did not record the content.
  const isUnknown = record.ran.size === 0 && record.done.has(changeId);
  if (group.rerun === undefined) return isUnknown || record.ran.has(contentOf(group));
  if (!record.done.has(changeId)) return false;
  // A repetition was begun and did not complete.
  if (record.interrupted.has(changeId)) return false;
  return group.rerun === 'Always' ? record.doneInRun.has(changeId) : isSame(group, record.notes.get(changeId));
}

/** Why a completed group runs once more; part of the summary of its change. */
export function whyAgain(group: HookGroup, changeId: string, record: StepRecord): string | undefined {
  if (!record.done.has(changeId) || record.interrupted.has(changeId)) return undefined;
  if (group.rerun === 'Always') return 'as in every run';
  return group.rerun === undefined ? 'not run before' : 'again: it changed since it ran';
}

/** What `apply` left in the journal. Throws `JournalUnreadable` for what no version of it ever wrote. */
export function parseNote(note: unknown): { readonly token: string; readonly commands: readonly string[] } | undefined {
  if (note === undefined) return undefined;
  if (typeof note === 'object' && note !== null && 'token' in note && 'commands' in note) {
    const { token, commands } = note;
    const texts = Array.isArray(commands) ? commands.filter((digest) => typeof digest === 'string') : [];
    if (typeof token === 'string' && Array.isArray(commands) && texts.length === commands.length) {
      return { token, commands: texts };
    }
  }
  throw new MachineadmError({
    reason: 'JournalUnreadable',
    summary: 'The journal has a record of a hook that this version of machineadm does not understand.',
    remedy: 'Run the version of machineadm that wrote it, or find out what the hook did, and remove the journal.',
  });
}
