import { EMPTY_RECORD, type StepRecord } from '../step/index.ts';
import { type DocumentId, ownerOf, wantedByOthers } from './documents.ts';
import { BOOTSTRAP_STEPS, isOfHooks, type JournalState } from './journal.ts';
import { memoryOf, ofDocument } from './resource-memory.ts';
import { NO_MEMORY, type StepMemory } from './step-memory.ts';

/**
 * The journal's records of one step.
 *
 * @param id of the document; by default that of the run that goes on
 */
export function stepRecord(state: JournalState | undefined, step: string, id?: DocumentId): StepRecord {
  const document = ownerOf(id ?? state?.open);
  const own = isOfHooks(step) ? state?.hooks.get(document) : state?.steps;
  const memory = own?.get(step) ?? NO_MEMORY;
  const bootstrap = BOOTSTRAP_STEPS.map((id) => state?.steps.get(id) ?? NO_MEMORY);
  return {
    interrupted: memory.started,
    done: memory.done,
    doneInRun: state?.doneInRun ?? new Set(),
    notes: memory.notes,
    ran: memory.ran,
    hookEdits: hookEditsIn(state),
    foreignLeftovers: state?.foreign ?? false,
    bootstrap: bootstrap.some(({ started }) => started.size > 0)
      ? 'attempted'
      : bootstrap.some(({ done }) => done.size > 0)
        ? 'done'
        : 'none',
    attempts: bootstrap.flatMap(attemptNotes),
    inventory: state?.inventory,
    created: (path) => state?.before.get(`path:${path}`)?.was === null,
    owned: ofDocument(state?.owned, document),
    memory: () =>
      state === undefined ? EMPTY_RECORD.memory() : memoryOf(state, document, wantedByOthers(state, document)),
    owed: state?.owed ?? new Set(),
    reboot: rebootOf(state, step),
    upgrade: state?.upgrade,
  };
}

/** The prefix of a hook's note about a file that it changed; the path follows. */
export const HOOK_EDIT = 'edited:';

/** Stored with the records of hooks: if they run again, they get the files as the document has them. */
function hookEditsIn(state: JournalState | undefined): ReadonlyMap<string, unknown> {
  const edits = new Map<string, unknown>();
  const memories = [...(state?.hooks.values() ?? [])].flatMap((steps) => [...steps.values()]);
  for (const { notes } of memories) {
    for (const [change, note] of notes) {
      if (change.startsWith(HOOK_EDIT)) edits.set(change.slice(HOOK_EDIT.length), note);
    }
  }
  return edits;
}

function attemptNotes({ started, done, notes }: StepMemory): readonly unknown[] {
  return [...(started.size > 0 ? started : done)].map((change) => notes.get(change));
}

function rebootOf(state: JournalState | undefined, step: string): StepRecord['reboot'] {
  const reboot = state?.reboots.get(step);
  if (reboot === undefined) return 'none';
  return reboot.bootId === state?.bootId ? 'owed' : 'done';
}
