import { HOSTNAME_FILE } from '@machineadm/document/ownership/paths.ts';
import type { Resource } from '../host/seam/resource.ts';
import type { FollowUp } from './follow-up.ts';
import type { Marks, PriorState } from './recorded-state.ts';
import type { Wants } from './wants.ts';

/** What the journal remembers of the resources that steps changed. */
export interface Memory {
  /** In the order of the first changes. */
  readonly before: ReadonlyMap<Resource, BeforeRecord>;
  readonly after: ReadonlyMap<Resource, readonly string[]>;
  /** By step, and by change. */
  readonly everOwed: ReadonlyMap<string, ReadonlySet<FollowUp>>;
  /** Changes that were ever made, or begun, by step. */
  readonly acted: ReadonlyMap<string, ReadonlySet<string>>;
  /** The last note that a change left for itself (`Execution.remember`). */
  note(step: string, change: string): unknown;
  /** An earlier reset was interrupted: what follows its changes may not have been done. */
  readonly isResetting: boolean;
  /** Whether an earlier version recorded some of it, which did not tell documents apart by their names. */
  readonly isAdopted: boolean;
  /** Whether another document on this machine asks for a resource: then it stays. */
  readonly others: Wants;
}

/** How a resource was, and the step that changed it first. */
export interface BeforeRecord {
  readonly step: string;
  readonly was: PriorState;
  /** Whether all changes since are on record. */
  readonly isMarked: boolean;
  /** The document that asked for the last change (`documentKey`). */
  readonly document: string;
}

/** What our changes made of a resource. Earlier versions recorded that of files, links and users alone. */
export function marksOf({ before, after }: Pick<Memory, 'before' | 'after'>, of: Resource): Marks {
  return after.get(of) ?? (before.get(of)?.isMarked === true ? [] : undefined);
}

/** Whether machineadm gave the machine its name. */
export function isNamed({ before }: Pick<Memory, 'before'>): boolean {
  return before.get(`path:${HOSTNAME_FILE}`)?.step === 'hostname';
}
