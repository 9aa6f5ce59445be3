import type { Version } from '@machineadm/document/program-version.ts';
import type { RootTree } from '../../host/files/root-tree.ts';
import type { UnitFiles } from './unit-files.ts';

/** Version of contract/CONTRACT.md that the suite checks. It grows with every change of a clause. */
export const CONTRACT_VERSION = '1.2';

/** RFC 2119: a machine that breaks a MUST does not keep the contract; a SHOULD costs what its clause says. */
export type Level = 'MUST' | 'SHOULD';

/** What a machine or an image is to become, which decides the clauses that apply. */
export type Profile = 'host' | 'kubernetes' | 'windows';

/** Programs whose version a clause asks for. */
export type VersionedProgram = 'kubeadm' | 'kubelet' | 'containerd';

/** What the clauses are checked on: the running machine, or the files of an image that nobody booted. */
export interface Subject {
  readonly tree: RootTree;
  readonly profile: Profile;
  /** The tree is the root of a running machine: /proc, /run and /sys are its own. */
  readonly isRunning: boolean;
  /** Absolute path of machineadm in the tree; undefined: it is not installed there. */
  readonly program: string | undefined;
  /** What a program may be: one version where that is certain, several where its file names several, none where none. */
  readonly versions: (program: VersionedProgram) => readonly Version[];
  readonly units: UnitFiles;
}

/**
 * How a subject keeps a clause; `text` is the evidence. `notProven`: the clause applies, and what is there neither proves nor
 * refutes it. `notApplicable`: its condition does not hold here, as for a clause about Kubernetes on a plain host.
 */
export type ClauseResult =
  | { readonly state: 'kept' | 'notProven' | 'notApplicable'; readonly text: string }
  | { readonly state: 'broken'; readonly text: string; readonly remedy: string };

/** A clause of the contract that a machine or an image can be checked for. */
export interface Clause {
  /** As contract/CONTRACT.md names it: never given to another clause. */
  readonly id: string;
  readonly level: Level;
  readonly title: string;
  readonly check: (subject: Subject) => ClauseResult;
}

export function kept(text: string): ClauseResult {
  return { state: 'kept', text };
}

export function broken(text: string, remedy: string): ClauseResult {
  return { state: 'broken', text, remedy };
}

/** The clause applies and could not be decided; why. */
export function notProven(text: string): ClauseResult {
  return { state: 'notProven', text };
}

/** The clause does not apply here; why. */
export function notApplicable(text: string): ClauseResult {
  return { state: 'notApplicable', text };
}
