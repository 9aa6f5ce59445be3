import type { Model } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Resource } from '../host/seam/resource.ts';
import type { FollowUp } from './follow-up.ts';
import type { Memory } from './memory.ts';
import type { PriorState } from './recorded-state.ts';
import type { ResetAction } from './reset-action.ts';
import type { Asked } from './wants.ts';

/**
 * What is special about undoing what a step changed, by a reset or for a document without its field. All else is the same for
 * every step: `src/undo` gives each resource its prior state again.
 */
export interface Restoring {
  /** The action on one of its paths, with what belongs to it. */
  completed?(path: string, was: PriorState, action: ResetAction): ResetAction;
  /** Its resources that are restored together, and not one by one. */
  readonly together?: RestoredTogether;
  /** Resources, also of other steps, that stay as they are with a document without its field: what stays of this step needs them. */
  keeps?(memory: Memory): readonly Resource[];
  /** What must follow when a path of it is restored. Absent: what followed its changes. */
  followUps?(path: string, everOwed: Memory['everOwed']): Iterable<FollowUp> | undefined;
  /** What a removal of its files does not change before the next boot, in a few words. */
  untilBoot?(model: Model, restored: readonly Resource[]): string | undefined;
  /**
   * What goes with a document that is reset alone, beside its resources and `sharedLines`.
   *
   * @param name undefined for a document of an earlier version
   */
  withDocument?(
    host: QueryHost,
    memory: Memory,
    name: string | undefined,
    asked: Asked | undefined,
  ): Promise<readonly ResetAction[]>;
  /** After a reset: what is made of its files, if that followed a change that is undone. */
  rebuilt?(owed: ReadonlySet<FollowUp>, osId: string): readonly ResetAction[];
}

/** A resource, and how it would be restored alone. */
export interface RestoredResource {
  readonly resource: Resource;
  readonly was: PriorState;
  readonly actions: readonly ResetAction[];
}

export interface RestoredTogether {
  includes(resource: Resource): boolean;
  /** @param restored none: a reset asks for what is left of an interrupted change */
  plan(host: QueryHost, restored: readonly RestoredResource[], memory: Memory): Promise<readonly ResetAction[]>;
}
