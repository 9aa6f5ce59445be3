import type { OwnedPlace, StepRecord } from '../steps/step.ts';
import type { JournalRecord } from './journal-record.ts';

/** What a journal knows of paths. There may be thousands of them, so that it grows in place. */

/** Something that was made, with the sources of the document that asked for it (`sourcesKey`). */
export type OwnedOf = OwnedPlace & { readonly sources: string };

/** A key for the sources of a document; the same for all runs of earlier versions, which did not record them. */
export function sourcesKey(sources: readonly string[] | undefined): string {
  return JSON.stringify(sources ?? []);
}

/** What grows in place. */
export interface PathMemory {
  readonly wrote: Map<string, 'absent' | 'present'>;
  readonly owned: Map<string, OwnedOf>;
}

/** Remembers a record of a path in place; false for one of another kind. */
export function rememberPath(
  { wrote, owned }: PathMemory,
  sources: readonly string[] | undefined,
  record: JournalRecord,
): boolean {
  switch (record.is) {
    case 'wrote':
      rememberWritten(wrote, record);
      return true;
    case 'owned': {
      const { is: _is, path, ...place } = record;
      owned.set(path, { ...place, sources: sourcesKey(sources) });
      return true;
    }
    case 'released':
      owned.delete(record.path);
      // What is there from now on was not made by us.
      if (wrote.get(record.path) === 'absent') wrote.delete(record.path);
      return true;
    default:
      return false;
  }
}

/**
 * Adds a written path, in place: there are thousands, and copying the list for each costs more than writing the files.
 * The state before the first write counts.
 */
function rememberWritten(
  wrote: Map<string, 'absent' | 'present'>,
  { path, before }: Extract<JournalRecord, { is: 'wrote' }>,
): void {
  if (!wrote.has(path)) wrote.set(path, before);
}

/** What another document made on this machine is not for this one to remove. */
export function ownedBy(
  owned: ReadonlyMap<string, OwnedOf> | undefined,
  sources: readonly string[] | undefined,
): StepRecord['owned'] {
  const key = sourcesKey(sources);
  return new Map([...(owned ?? [])].filter(([, place]) => place.sources === key));
}
