import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** Version of contract/CONTRACT.md that the suite checks. It grows with every change of a clause. */
export const CONTRACT_VERSION = '1.1';

/** RFC 2119: a machine that breaks a MUST does not keep the contract; a SHOULD costs what its clause says. */
export type Level = 'MUST' | 'SHOULD';

/** What a clause is held against: the machine, which is only asked, and what is known of it. */
export interface Subject {
  readonly host: QueryHost;
  readonly facts: Facts;
  /** True where an init system runs: false in a chroot, where what lies in memory on a machine lies on a disk. */
  readonly isBooted: boolean;
  /** Absolute path of this program. */
  readonly program: string;
  /** The status document of the last run, parsed but not checked; undefined = none ran here. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

/** How a subject keeps a clause. `text` says what was found. */
export type Finding =
  | { readonly state: 'kept' | 'unchecked'; readonly text: string }
  | { readonly state: 'broken'; readonly text: string; readonly remedy: string };

/** A clause of the contract that a machine can be held against. */
export interface Clause {
  /** As contract/CONTRACT.md names it: never given to another clause. */
  readonly id: string;
  readonly level: Level;
  readonly title: string;
  readonly look: (subject: Subject) => Promise<Finding>;
}

export function kept(text: string): Finding {
  return { state: 'kept', text };
}

export function broken(text: string, remedy: string): Finding {
  return { state: 'broken', text, remedy };
}

/** The clause does not apply here, or cannot be looked at; why. */
export function unchecked(text: string): Finding {
  return { state: 'unchecked', text };
}
