import type { CatalogueEntry } from './catalogue.ts';
import type { ObservedLine } from './observed-line.ts';

/** An entry of the catalogue that a line proves. */
export interface Finding {
  readonly entry: CatalogueEntry;
  readonly line: ObservedLine;
  readonly score: number;
  /** Why it proves less than it says; undefined = it stands as it is. */
  readonly weakness?: 'retried' | 'earlier attempt' | 'before the kubelet had a part' | 'overcome';
}
