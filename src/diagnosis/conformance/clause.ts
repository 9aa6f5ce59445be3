import type { Version } from '@machineadm/document/text/program-version.ts';
import type { RootTree } from '../../host/local-files/root-tree.ts';
import type { UnitFiles } from './unit-files.ts';

/** The version of contract/CONTRACT.md that is checked. It grows with every change of a clause. */
export const CONTRACT_VERSION = '1.2';

/**
 * As in RFC 2119. A machine that breaks a MUST does not fulfil the contract; the clause says what a broken SHOULD
 * costs.
 */
export type Level = 'MUST' | 'SHOULD';

/** What a machine or image is to become. It decides which clauses apply. */
export type Profile = 'host' | 'kubernetes' | 'windows';

/** The programs whose versions clauses depend on. */
export type VersionedProgram = 'kubeadm' | 'kubelet' | 'containerd';

/** What is checked: the running machine, or the files of an image that was never booted. */
export interface Subject {
  readonly tree: RootTree;
  readonly profile: Profile;
  /** Whether the tree is the root of a running machine, so that /proc, /run and /sys are its own. */
  readonly isRunning: boolean;
  /** The absolute path of machineadm in the tree; undefined: not installed. */
  readonly program: string | undefined;
  /**
   * The possible versions of a program: one where it is certain, several where the files suggest several, none where
   * nothing tells.
   */
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

/** A clause of the contract that can be checked on a machine or an image. */
export interface Clause {
  /** The id in contract/CONTRACT.md. It is never used for another clause. */
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

/** The result of a clause that applies and could not be decided, with the reason. */
export function notProven(text: string): ClauseResult {
  return { state: 'notProven', text };
}

/** The result of a clause that does not apply, with the reason. */
export function notApplicable(text: string): ClauseResult {
  return { state: 'notApplicable', text };
}
