import type { Resource } from '../host/seam/resource.ts';
import type { BeforeRecord } from '../steps/prior-state/memory.ts';
import type { PriorState } from '../steps/prior-state/state.ts';
import type { OwnedPlace, StepRecord } from '../steps/step.ts';
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
  const first = (of: Resource, step: string, was: PriorState, isMarked = false): void => {
    if (!before.has(of)) before.set(of, { step, was, isMarked });
  };
  if (record.is === 'after') {
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
    owned.set(path, { ...place, sources: sourcesKey(sources) });
  } else {
    owned.delete(record.path);
    // What is there from now on was not made by us.
    const of = `path:${record.path}` as const;
    if (before.get(of)?.was === null) before.delete(of);
  }
}

/** What another document made on this machine is not for this one to remove. */
export function ownedBy(
  owned: ReadonlyMap<string, OwnedOf> | undefined,
  sources: readonly string[] | undefined,
): StepRecord['owned'] {
  const key = sourcesKey(sources);
  return new Map([...(owned ?? [])].filter(([, place]) => place.sources === key));
}
