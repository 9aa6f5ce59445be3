import type { Model } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Abilities } from './abilities.ts';
import type { Change } from './change.ts';
import type { Execution } from './execution.ts';
import type { StepRecord } from './record.ts';

export type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
export type { Explanation, NodeProgram, OwnedPath } from './abilities.ts';
export { type Change, type ChangeAction, owing } from './change.ts';
export type { Execution } from './execution.ts';
export type { FollowUp } from './follow-up.ts';
export { EMPTY_RECORD, type OwnedPlace, type RanRecord, type StepRecord } from './record.ts';
export { notChecked, type UnmetRequirement } from './requirement.ts';

/**
 * The contract of a step: the desired state and the actual one, the changes between them, and how one change is made.
 * `desired` and `plan` are pure, `inspect` only reads, `apply` makes one change. `runStep` (pipeline/runner.ts) verifies a step
 * by inspecting and planning again: the second plan must be empty. What only some steps do is an ability (abilities.ts).
 * docs/adding-a-step.md walks through one.
 */
export interface Step<Desired = unknown, Actual = unknown, Payload = unknown>
  extends Abilities<Desired, Actual, Payload> {
  /** The name in plan, journal, status, timeline and docs. */
  readonly id: StepId;
  /** The desired state from the document; undefined = the step has nothing to do. */
  desired(model: Model, facts: Facts): Desired | undefined;
  /** True if the journal shows that the step has nothing to do: then it is left out of the run. Default false. */
  idle?(desired: Desired, record: StepRecord): boolean;
  /** Reads the present state. `record`: what the journal knows of this step's earlier, perhaps interrupted, work. */
  inspect(host: QueryHost, desired: Desired, record: StepRecord): Promise<Actual>;
  /** The changes that are needed; none where the machine is as desired. */
  plan(desired: Desired, actual: Actual): readonly Change<Payload>[];
  /** Makes one change: atomically, or so that the next `inspect` recognises a half-done change. */
  apply(host: Host, change: Change<Payload>, execution: Execution): Promise<void>;
  /** Called once after the step's changes and their follow-ups, before verification: to flush, or to wait for health. */
  settled?(host: Host, desired: Desired, execution: Execution): Promise<void>;
  /** How long the step may take, from the document; undefined = only the overall deadline. In milliseconds. */
  deadlineMs?(desired: Desired): number | undefined;
}
