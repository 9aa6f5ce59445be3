import { member } from '@machineadm/document/values/untyped.ts';
import type { JournalRecord } from './journal-record.ts';

/** What a journal remembers of the changes of one step. */
export interface StepMemory {
  readonly started: ReadonlySet<string>;
  readonly done: ReadonlySet<string>;
  readonly notes: ReadonlyMap<string, unknown>;
  /** The contents of hooks that ran to their end (`contentOf`). */
  readonly ran: ReadonlySet<string>;
}

export const NO_MEMORY: StepMemory = { started: new Set(), done: new Set(), notes: new Map(), ran: new Set() };

/** The memory after one more record. */
export function afterChange(
  memory: StepMemory,
  record: Extract<JournalRecord, { is: 'started' | 'note' | 'done' }>,
): StepMemory {
  const { change } = record;
  switch (record.is) {
    case 'started':
      return { ...memory, started: new Set([...memory.started, change]) };
    case 'note':
      return { ...memory, notes: new Map(memory.notes).set(change, record.note) };
    case 'done':
      return {
        ...memory,
        started: new Set([...memory.started].filter((started) => started !== change)),
        done: new Set([...memory.done, change]),
        ran: new Set([...memory.ran, contentOf(memory.notes.get(change)) ?? []].flat()),
      };
  }
}

/** What a hook's note says that it ran, as a text to compare; undefined: an earlier version did not record it. */
export function contentOf(note: unknown): string | undefined {
  const commands = member(note, 'commands');
  return Array.isArray(commands) ? commands.join() : undefined;
}
