import type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
import type { FollowUp } from './follow-up.ts';
import type { Memory } from './memory.ts';
import type { Upgrade } from './upgrade-order.ts';

/** The records of one step in the journal of this instance. */
export interface StepRecord {
  /** Changes that were started and not completed: the run was killed. */
  readonly interrupted: ReadonlySet<string>;
  /** Non-repeatable changes that were done, ever, on this instance. */
  readonly done: ReadonlySet<string>;
  /** Those of them that were done in this very run. */
  readonly doneInRun: ReadonlySet<string>;
  /** The last note each change left for itself (`Execution.remember`). */
  readonly notes: ReadonlyMap<string, unknown>;
  /** For a step that runs hooks: the contents that ran to their end, as their notes tell them (`contentOf`). */
  readonly ran: ReadonlySet<string>;
  /** Files of this step that hooks of this document edited: the notes of the step, by path. */
  readonly hookEdits: ReadonlyMap<string, unknown>;
  /** True if the journal on this disk belongs to another instance: existing files are not of this machine. */
  readonly foreignLeftovers: boolean;
  /** The progress of this instance's bootstrapper: never started, started but not proven complete, or done. */
  readonly bootstrap: 'none' | 'attempted' | 'done';
  /** The last notes of the bootstrapper's changes that were started and not completed, otherwise of the completed ones. */
  readonly attempts: readonly unknown[];
  /** The files before the first attempt; undefined if none are recorded, as in journals of older versions. */
  readonly inventory: Inventory | undefined;
  created(path: string): boolean;
  /** Paths that steps of this document created on this machine and that were not released since. */
  readonly owned: ReadonlyMap<string, OwnedPlace>;
  /** The resources that all steps changed, with their prior states. */
  memory(): Memory;
  /** Follow-ups owed by an earlier, killed run. */
  readonly owed: ReadonlySet<FollowUp>;
  /**
   * `owed`: a change that needs a reboot was started, and no reboot came since. `done`: one came, and the step was not in order since.
   */
  readonly reboot: 'none' | 'owed' | 'done';
  /** The upgrade of Kubernetes that this run performs; undefined: it performs none. */
  readonly upgrade: Upgrade | undefined;
}

/** The part of the record that a preflight may use: hooks that are still to run, and created paths. */
export type RanRecord = Pick<StepRecord, 'done' | 'doneInRun' | 'interrupted' | 'notes' | 'ran'> &
  Partial<Pick<StepRecord, 'owned' | 'bootstrap' | 'foreignLeftovers' | 'upgrade'>>;

export const EMPTY_RECORD: StepRecord = {
  interrupted: new Set(),
  done: new Set(),
  doneInRun: new Set(),
  notes: new Map(),
  ran: new Set(),
  hookEdits: new Map(),
  foreignLeftovers: false,
  bootstrap: 'none',
  attempts: [],
  inventory: undefined,
  created: () => false,
  owned: new Map(),
  memory: () => ({
    before: new Map(),
    after: new Map(),
    everOwed: new Map(),
    acted: new Map(),
    note: () => undefined,
    isResetting: false,
    isAdopted: false,
    others: () => false,
  }),
  owed: new Set(),
  reboot: 'none',
  upgrade: undefined,
};

/** A path that a run created, and how it is recognised. */
export interface OwnedPlace {
  /** The step that created it. */
  readonly step: string;
  readonly type: 'file' | 'link' | 'directory' | 'block';
  /** For a block in a file of another program. */
  readonly block?: { readonly name: string; readonly comment: string };
  /** For a file: its `stampOf`. Absent while it is being written. */
  readonly stamp?: string;
  /** For a link: its target. */
  readonly target?: string;
  /** What must follow its removal. */
  readonly owes?: readonly FollowUp[];
}
