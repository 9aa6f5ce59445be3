import type { Resource } from '../host/seam/resource.ts';
import type { OwnedPlace } from '../step/index.ts';
import type { BeforeRecord, Memory } from '../step/memory.ts';
import type { PriorState } from '../step/recorded-state.ts';
import { WANTS_NOTHING, type Wants } from '../step/wants.ts';
import type { JournalRecord } from './journal-record.ts';

/** What a journal knows of the resources of the machine. There may be thousands of them, so that it grows in place. */

/** Something that was made, with the document that asked for it (`documentKey`). */
export type OwnedOf = OwnedPlace & { readonly document: string };

/** A key for the sources of a document; the same for all runs of earlier versions, which did not record them. */
export function sourcesKey(sources: readonly string[] | undefined): string {
  return JSON.stringify(sources ?? []);
}

/** What grows in place. */
export interface ResourceMemory {
  /** How each resource was before the first change, and the step of that change, in the order of the changes. */
  readonly before: Map<Resource, BeforeRecord>;
  /** What our changes made of them (`markOf`). */
  readonly after: Map<Resource, string[]>;
  /** What was made where nothing was, with the document that asked for it. */
  readonly owned: Map<string, OwnedOf>;
}

/** Adds a record. The first state of a resource counts. */
export function rememberResource(
  { before, after, owned, isResetting }: ResourceMemory & { readonly isResetting: boolean },
  by: string,
  record: Extract<JournalRecord, { is: 'before' | 'after' | 'wrote' | 'enabled' | 'owned' | 'released' }>,
): void {
  const first = (of: Resource, step: string, was: PriorState, isMarked = false): void => {
    if (!before.has(of)) before.set(of, { step, was, isMarked, document: by });
  };
  if (record.is === 'after') {
    const known = before.get(record.of);
    if (known !== undefined && !isResetting && known.document !== by) before.set(record.of, { ...known, document: by });
    after.set(record.of, [...(after.get(record.of) ?? []), record.mark]);
  } else if (record.is === 'before') {
    first(record.of, record.step, record.was, record.v === 2);
  } else if (record.is === 'wrote') {
    first(`path:${record.path}`, record.step, record.before === 'absent' ? null : { is: 'unknown' });
  } else if (record.is === 'enabled') {
    // It was not recorded whether it ran: it stays as it is.
    const was = { is: 'service', exists: true, enabled: false, masked: false } as const;
    first(`service:${record.service}`, record.step, was);
  } else if (record.is === 'owned') {
    const { is: _is, path, ...place } = record;
    owned.set(path, { ...place, document: by });
  } else {
    owned.delete(record.path);
    if (record.of !== undefined) {
      before.delete(record.of);
      after.delete(record.of);
    }
    // What is there from now on was not made by us.
    const of = `path:${record.path}` as const;
    if (before.get(of)?.was === null) {
      before.delete(of);
      before.delete(`attributes:${record.path}`);
    }
  }
}

/** What belongs to a document. */
export function ofDocument<Key, Known extends { readonly document: string }>(
  known: ReadonlyMap<Key, Known> | undefined,
  document: string | undefined,
): ReadonlyMap<Key, Known> {
  return new Map([...(known ?? [])].filter(([, one]) => one.document === document));
}

/** Of a journal, what else is remembered of resources. */
type OfJournal = ResourceMemory &
  Omit<Memory, 'before' | 'after' | 'note' | 'others' | 'isAdopted'> & {
    readonly actedFor: ReadonlyMap<string, Memory['acted']>;
    readonly steps: ReadonlyMap<string, { readonly notes: ReadonlyMap<string, unknown> }>;
    readonly documents: ReadonlyMap<string, { readonly isAdopted: boolean }>;
  };

/**
 * @param of a document: what others changed is left out
 * @param others what the other documents ask for
 */
export function memoryOf(state: OfJournal, of?: string, others: Wants = WANTS_NOTHING): Memory {
  const { before, after, everOwed, isResetting, acted } = state;
  const note: Memory['note'] = (step, change) => state.steps.get(step)?.notes.get(change);
  const isAdopted = of !== undefined && state.documents.get(of)?.isAdopted === true;
  const rest = { after, everOwed, isResetting, note, others, isAdopted };
  if (of === undefined) return { ...rest, before, acted };
  return { ...rest, before: ofDocument(before, of), acted: state.actedFor.get(of) ?? new Map() };
}

/** The same state after a step made or began these changes, for a document. */
export function acting<State extends Pick<OfJournal, 'acted' | 'actedFor'>>(
  state: State,
  document: string,
  step: string,
  changes: readonly string[],
): State {
  if (changes.length === 0) return state;
  const add = (to: Memory['acted']) => new Map(to).set(step, new Set([...(to.get(step) ?? []), ...changes]));
  const actedFor = new Map(state.actedFor).set(document, add(state.actedFor.get(document) ?? new Map()));
  return { ...state, acted: add(state.acted), actedFor };
}
