import type { Resource } from '../host/seam/resource.ts';
import type { BeforeRecord, Memory } from '../steps/prior-state/memory.ts';
import type { PriorState } from '../steps/prior-state/state.ts';
import type { OwnedPlace } from '../steps/step.ts';
import type { JournalRecord } from './journal-record.ts';

/** What a journal knows of the resources of the machine. There may be thousands of them, so that it grows in place. */

/** Something that was made, with the sources of the document that asked for it (`sourcesKey`). */
export type OwnedOf = OwnedPlace & { readonly sources: string };

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
  /** What was made where nothing was, with the sources of the document that asked for it. */
  readonly owned: Map<string, OwnedOf>;
}

/** Adds a record. The first state of a resource counts. */
export function rememberResource(
  { before, after, owned }: ResourceMemory,
  sources: readonly string[] | undefined,
  record: Extract<JournalRecord, { is: 'before' | 'after' | 'wrote' | 'enabled' | 'owned' | 'released' }>,
): void {
  const by = sourcesKey(sources);
  const first = (of: Resource, step: string, was: PriorState, isMarked = false): void => {
    if (!before.has(of)) before.set(of, { step, was, isMarked, sources: by });
  };
  if (record.is === 'after') {
    const known = before.get(record.of);
    if (known !== undefined && known.sources !== by) before.set(record.of, { ...known, sources: by });
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
    owned.set(path, { ...place, sources: by });
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

/** What another document made on this machine is not for this one to remove. */
export function ofSources<Key, Known extends { readonly sources: string }>(
  known: ReadonlyMap<Key, Known> | undefined,
  sources: readonly string[] | undefined,
): ReadonlyMap<Key, Known> {
  const key = sourcesKey(sources);
  return new Map([...(known ?? [])].filter(([, { sources }]) => sources === key));
}

/** Of a journal, what else is remembered of resources. */
type OfJournal = ResourceMemory &
  Omit<Memory, 'before' | 'after' | 'note'> & {
    readonly actedFor: ReadonlyMap<string, ReadonlySet<string>>;
    readonly steps: ReadonlyMap<string, { readonly notes: ReadonlyMap<string, unknown> }>;
  };

/** @param sources of a document: what others changed is left out */
export function memoryOf(state: OfJournal, sources?: readonly string[]): Memory {
  const { before, after, everOwed, isResetting, acted } = state;
  const note: Memory['note'] = (step, change) => state.steps.get(step)?.notes.get(change);
  const rest = { after, everOwed, isResetting, note };
  if (sources === undefined) return { ...rest, before, acted };
  const steps = state.actedFor.get(sourcesKey(sources));
  const own = [...acted].filter(([step]) => steps?.has(step) === true);
  return { ...rest, before: ofSources(before, sources), acted: new Map(own) };
}

/** The same state after a step made or began these changes, for a document with these sources. */
export function acting<State extends Pick<OfJournal, 'acted' | 'actedFor'>>(
  state: State,
  sources: readonly string[] | undefined,
  step: string,
  changes: readonly string[],
): State {
  if (changes.length === 0) return state;
  const add = (to: Memory['acted'], key: string, more: readonly string[]) =>
    new Map(to).set(key, new Set([...(to.get(key) ?? []), ...more]));
  const actedFor = add(state.actedFor, sourcesKey(sources), [step]);
  return { ...state, acted: add(state.acted, step, changes), actedFor };
}
