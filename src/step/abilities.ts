import type { Model } from '@machineadm/document/model/index.ts';
import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
import type { NodeHandover } from '../kubernetes/node-labels.ts';
import type { Change } from './change.ts';
import type { Execution } from './execution.ts';
import type { FollowUp } from './follow-up.ts';
import type { RanRecord, StepRecord } from './record.ts';
import type { UnmetRequirement } from './requirement.ts';

/**
 * What a step can do besides its changes. A step has those that it needs; each is named with the function that asks for it. An
 * ability is an object where its members belong together.
 */
export interface Abilities<Desired, Actual, Payload> {
  /**
   * The reasons for which `apply` would fail: missing tools, devices and names, and contents that their readers would refuse.
   * `findRequirements` (pipeline/preflight.ts) checks all steps at once for `plan`, `doctor` and a run, and reports everything
   * before any change. A thrown error is reported, too. `record` has the earlier changes of the step.
   */
  preflight?(host: QueryHost, desired: Desired, record?: RanRecord): Promise<readonly UnmetRequirement[]>;
  /**
   * The secrets whose values `inspect` or `apply` uses. `unreadableSecrets` (pipeline/preflight.ts) finds those that
   * cannot be read before a run, if the step has changes to make.
   */
  secrets?(desired: Desired): Iterable<SecretValue>;
  /**
   * Paths that the step manages and that depend on the machine, such as those of the distribution or a home directory:
   * `findCollisions` (pipeline/ownership.ts). Paths that follow from the document alone are in `document/ownership`, which checks
   * them without the machine.
   */
  owns?(host: QueryHost, desired: Desired): Promise<readonly OwnedPath[]>;
  /**
   * Of a step whose files, links and directories are removed when the document no longer has them (undo/removals): the paths
   * that it has. One with a slash at its end stands for what is below it. `makerOf` (pipeline/recording-host.ts) records them.
   */
  owned?(model: Model): readonly string[];
  readonly programs?: Programs<Desired>;
  readonly hooks?: Hooks<Desired>;
  readonly afterHooks?: AfterHooks<Desired>;
  readonly bootstrapper?: Bootstrapper<Desired>;
  readonly followUps?: FollowUps<Desired>;
  /**
   * The document with what this step found on the machine, for later steps: `runSteps` and `planSteps`. undefined: nothing yet.
   */
  resolves?(host: QueryHost, desired: Desired, model: Model, record: StepRecord): Promise<Model | undefined>;
  /** Messages about the step's state that are no changes: `planStep` (pipeline/plan-step.ts). */
  remarks?(desired: Desired, record: StepRecord, actual: Actual): readonly Remark[];
  /** The cause, if changes that were made have no effect: `explanationOf` (pipeline/plan-step.ts). undefined: unknown. */
  whyNotEffective?(host: Host, desired: Desired, left: readonly Change<Payload>[]): Promise<Explanation | undefined>;
}

/** Programs that a step needs or brings: pipeline/preflight.ts. */
export interface Programs<Desired> {
  /**
   * Programs without which the step can do nothing. While one is missing, and hooks that may install it are still to run,
   * the step waits for them and runs right after them (`waitsForHooks`).
   */
  readonly needs?: readonly NodeProgram[];
  /**
   * The programs that its changes may install. If one of them was missing, its version is read after the step, and the steps
   * that need it are checked again (`programsOf`).
   */
  brings?(desired: Desired): readonly NodeProgram[];
}

/** The programs whose versions are facts about the machine. */
export const NODE_PROGRAMS = ['containerd', 'kubeadm', 'kubelet'] as const;
export type NodeProgram = (typeof NODE_PROGRAMS)[number];

/** Of a step that runs commands of the document: they may install programs, and edit files of earlier steps. */
export interface Hooks<Desired> {
  /** Whether they have nothing to do in this run: `pendingHooks` (pipeline/preflight.ts). */
  hasRun(desired: Desired, record: RanRecord): boolean;
}

/** Of a step whose files later hooks change, or decide: `withHooks` (pipeline/after-hooks.ts) calls it after each of them. */
export interface AfterHooks<Desired> {
  /**
   * Notes about this step's files that hooks have just edited, by path. The next `inspect` finds them in the record
   * (`StepRecord.hookEdits`) and keeps such a file.
   */
  edits?(host: QueryHost, desired: Desired, record: StepRecord): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Updates the files of this step for programs that the hooks have installed, and returns the new notes of its changes.
   * Called if `desired` differs from the value before the hooks.
   */
  renew?(host: Host, desired: Desired, record: StepRecord, execution: Execution): Promise<ReadonlyMap<string, unknown>>;
}

/**
 * Of a step that turns the machine into a node, and does not just prepare it. Its failure may be retried (`performAttempts`),
 * `watchBootstrap` watches its changes that are not repeatable, and the journal recognises the bootstrap by it. In a run, at
 * most one such step has changes.
 */
export interface Bootstrapper<Desired> {
  /**
   * The existing files before the first non-repeatable change of this step: `recordStart` (pipeline/runner.ts) records them
   * durably before the change begins, and a reset keeps them. undefined: an earlier attempt may have written there, so the
   * earlier record stays valid.
   */
  inventory(host: QueryHost, desired: Desired, record: StepRecord): Promise<Inventory | undefined>;
}

/** Of a step that performs follow-ups: `performFollowUps` (pipeline/runner.ts), once, right after its changes. */
export interface FollowUps<Desired> {
  /** Those that it performs if they are pending: of its own changes, or of earlier ones. */
  readonly settles: readonly FollowUp[];
  /** More of them, for services that the document or an earlier change names. */
  settlesFor?(desired: Desired, owed: ReadonlySet<FollowUp>): readonly FollowUp[];
  /**
   * Performs one that takes more than a reload or a restart, such as restoring a configuration with which the restart failed.
   * Absent: the service manager performs it. Throws if the follow-up failed.
   */
  perform?(host: Host, desired: Desired, followUp: FollowUp, execution: Execution): Promise<void>;
}

/**
 * For the operator: a sentence, such as about work of an earlier run that is not repeated although the document changed. For the
 * management side: what this machine may not do on its Node.
 */
export type Remark = string | NodeHandover;

/** Why a change has no effect. */
export interface Explanation {
  /** One sentence. */
  readonly summary: string;
  readonly remedy: string;
  readonly evidence: readonly Evidence[];
  readonly retryable?: boolean;
}

/** A path with the field of the document because of which the step manages it. */
export type OwnedPath = Omit<Claim, 'step'>;
