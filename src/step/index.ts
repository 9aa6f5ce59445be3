import type { Evidence } from '@machineadm/document/errors.ts';
import type { Model } from '@machineadm/document/model.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import type { SecretValue } from '@machineadm/document/secret.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Resource } from '../host/seam/resource.ts';
import type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
import type { NodeHandover } from '../kubernetes/node-labels.ts';
import type { FollowUp } from './follow-up.ts';
import type { Memory } from './memory.ts';
import type { Upgrade } from './upgrade-order.ts';

export type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
export type { FollowUp } from './follow-up.ts';

/**
 * The contract of a step. `desired` and `plan` are pure, `inspect` only reads, `apply` makes one change. The runner verifies a
 * step by inspecting and planning again: the second plan must be empty. docs/adding-a-step.md walks through one.
 */
export interface Step<Desired = unknown, Actual = unknown, Payload = unknown> {
  /** The name in plan, journal, status, timeline and docs. */
  readonly id: StepId;
  /**
   * True for a step that turns the machine into a node, and does not just prepare it. The journal recognises the bootstrap by
   * it, and its failure may be retried (`pipeline/attempts.ts`). In a run, at most one such step has changes.
   */
  readonly bootstraps?: true;
  /** Follow-ups that are performed once, right after this step's changes. */
  readonly settles?: readonly FollowUp[];
  /** More follow-ups of this kind, for services that the document names. */
  settlesFor?(desired: Desired, owed: ReadonlySet<FollowUp>): readonly FollowUp[];
  /** True for a step that runs commands of the document: their edits of files of earlier steps are intended. */
  readonly runsHooks?: true;
  /** Of a step that runs hooks: whether they have nothing to do in this run. */
  hasRun?(desired: Desired, record: RanRecord): boolean;
  /**
   * Notes about this step's files that hooks have just edited, by path. The next `inspect` finds them in the record
   * (`StepRecord.hookEdits`) and keeps such a file. Absent: hooks must not edit the files of this step.
   */
  hookEdits?(host: QueryHost, desired: Desired, record: StepRecord): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Programs without which the step can do nothing. While one is missing, and hooks that may install it are still to run,
   * the step waits for them and runs right after them.
   */
  readonly needs?: readonly NodeProgram[];
  /**
   * The programs that its changes may install. If one of them was missing, its version is read after the step, and the steps
   * that need it are checked again.
   */
  brings?(desired: Desired): readonly NodeProgram[];
  /**
   * Updates the files of this step for programs that later hooks have installed, and returns the new notes of its changes.
   * Called if `desired` differs from the value before the hooks.
   */
  renew?(host: Host, desired: Desired, record: StepRecord, execution: Execution): Promise<ReadonlyMap<string, unknown>>;
  /** The effects of this step that a reset does not undo, and why: `images in the container runtime: …`. Absent: none. */
  readonly leaves?: string | ((did: Did) => readonly string[]);
  /** How long the step may take, from the document; undefined = only the overall deadline. In milliseconds. */
  deadlineMs?(desired: Desired): number | undefined;
  /** The desired state from the document; undefined = the step has nothing to do. */
  desired(model: Model, facts: Facts): Desired | undefined;
  /**
   * Paths that the step manages and that depend on the machine, such as those of the distribution or a home directory. Paths
   * that follow from the document alone are in `document/ownership`, which checks them without the machine. Absent: none.
   */
  owns?(host: QueryHost, desired: Desired): Promise<readonly OwnedPath[]>;
  /**
   * The reasons for which `apply` would fail: missing tools, devices and names, and contents that their readers would refuse.
   * `plan`, `doctor` and a run check all steps at once and report everything before any change. A thrown error is reported,
   * too. `record` has the earlier changes of the step.
   */
  preflight?(host: QueryHost, desired: Desired, record?: RanRecord): Promise<readonly UnmetRequirement[]>;
  /**
   * The secrets whose values `inspect` or `apply` uses. Those that cannot be read are found before a run, if the step has
   * changes to make. Absent: none.
   */
  secrets?(desired: Desired): Iterable<SecretValue>;
  /** Reads the present state. `record`: what the journal knows of this step's earlier, perhaps interrupted, work. */
  inspect(host: QueryHost, desired: Desired, record: StepRecord): Promise<Actual>;
  /** Remarks for the operator, for work of an earlier run that is not repeated although the document changed. */
  remarks?(desired: Desired, record: StepRecord, actual: Actual): readonly string[];
  /** The changes that are needed; none where the machine is as desired. */
  plan(desired: Desired, actual: Actual): readonly Change<Payload>[];
  /**
   * The existing files before the first non-repeatable change of this step: the journal records them durably before the change
   * begins, and a reset keeps them. undefined: an earlier attempt may have written there, so the earlier record stays valid.
   */
  inventory?(host: QueryHost, desired: Desired, record: StepRecord): Promise<Inventory | undefined>;
  /** Makes one change: atomically, or so that the next `inspect` recognises a half-done change. */
  apply(host: Host, change: Change<Payload>, execution: Execution): Promise<void>;
  /**
   * Performs a follow-up of `settles` that takes more than a reload or a restart, such as restoring a configuration with which
   * the restart failed. Absent: the service manager performs it. Throws if the follow-up failed.
   */
  followUp?(host: Host, desired: Desired, followUp: FollowUp, execution: Execution): Promise<void>;
  /** The cause, if changes that were made have no effect. undefined: unknown. */
  whyNotEffective?(host: Host, desired: Desired, left: readonly Change<Payload>[]): Promise<Explanation | undefined>;
  /** True if the journal shows that the step has nothing to do: then it is left out of the run. Default false. */
  idle?(desired: Desired, record: StepRecord): boolean;
  /**
   * Of a step whose files, links and directories are removed when the document no longer has them: the paths that it has. One
   * with a slash at its end stands for what is below it.
   */
  owned?(model: Model): readonly string[];
  /** What this machine may not do on its Node, for the management side. undefined: the document asks for nothing of it. */
  handover?(desired: Desired, actual: Actual): NodeHandover | undefined;
  /** The document with what this step found on the machine, for later steps. undefined: nothing yet. */
  resolves?(host: QueryHost, desired: Desired, model: Model, record: StepRecord): Promise<Model | undefined>;
  /** Called once after the step's changes and their follow-ups, before verification: to flush, or to wait for health. */
  settled?(host: Host, desired: Desired, execution: Execution): Promise<void>;
}

/** The programs whose versions are facts about the machine. */
export const NODE_PROGRAMS = ['containerd', 'kubeadm', 'kubelet'] as const;
export type NodeProgram = (typeof NODE_PROGRAMS)[number];

/** All that a step did on this instance: the ids of its changes and their last notes. */
export interface Did {
  readonly changes: ReadonlySet<string>;
  readonly notes: ReadonlyMap<string, unknown>;
}

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

/** `run`: something is executed, checked or waited for; what that changes is its own business. */
export type ChangeAction = 'add' | 'change' | 'remove' | 'run';

export interface Change<Payload = unknown> {
  /** Stable and unique in a run: `sysctl/net/ipv4/ip_forward`. No secret, no timestamp, nothing random. */
  readonly id: string;
  /** One line, no secret. */
  readonly summary: string;
  /**
   * The kind of the change. Default: from its diff; `remove` if it `removes`; `run` if it is not repeatable; else `change`.
   */
  readonly action?: ChangeAction;
  /** Commands of the document that it runs, for an operator who asks for details. */
  readonly commands?: readonly string[];
  /** How the text of a file changes, where that helps and holds no secret. */
  readonly diff?: string | undefined;
  /** `base` belongs into an image; `node` belongs to this instance, or holds a secret or something that expires. */
  readonly scope: 'base' | 'node';
  /** False for what must not be repeated blindly: the journal records its start durably before it. Default true. */
  readonly repeatable?: boolean;
  /**
   * Consecutive changes that say this are a declared group: slow, and independent of each other. At most so many of them
   * are made at the same time. Default: alone.
   */
  readonly concurrently?: number;
  /** Steps whose earlier work this change destroys: their records are forgotten. */
  readonly undoes?: readonly StepId[];
  /** Paths that this change deletes with their contents: in a plan, the later steps do not see them. */
  readonly removes?: readonly string[];
  /** Paths that it writes: the prior states of all changes of a step are recorded with one flush. */
  readonly writes?: readonly string[];
  /** Follow-ups of this change; the journal records them as pending before the change is made. */
  readonly owes?: readonly FollowUp[];
  /**
   * True if the change takes effect only after a reboot. The run ends after this step, and resumes after the reboot with the
   * same step, which then must not need another reboot.
   */
  readonly needsReboot?: true;
  /** The earlier step after which the content is known, or `secrets` if it depends on their values. */
  readonly knownAfter?: StepId | 'secrets';
  /** The reason that is reported if the change was made but has no effect when the machine is inspected again. */
  readonly ineffective?: Reason;
  readonly payload: Payload;
}

/** Something that is missing for `apply`, or would make it fail. */
export interface UnmetRequirement {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
  /** `node` where only changes of that scope need it: an image bake does not. Default `base`. */
  readonly scope?: 'base' | 'node';
  /** `failed` (default) refuses the run; `warning` is only reported; `skipped`: see `notChecked`. */
  readonly severity?: 'failed' | 'warning' | 'skipped';
  /** The id of the change that would fail: the report names its place in the document. */
  readonly change?: string;
  /** The field of the document, where no change says it: `host.hooks.early.commands[2]`. */
  readonly field?: string;
  /** The key beside the path of the entry that `change` leads to, if that is what is wrong. */
  readonly key?: 'owner' | 'contentFrom';
  /** What proves it, such as what a tool printed. */
  readonly evidence?: readonly Evidence[];
  /** True if no hook can help: it refuses the run at once. Default: it is checked again after the hooks. */
  readonly certain?: true;
  /** The step of this run that will bring it, if that is earlier: it is then checked by the step itself. */
  readonly broughtBy?: StepId;
}

/** Reports that something could not be checked, and why: `no visudo`. Shown by plan and doctor; never refuses a run. */
export function notChecked(
  what: string,
  why: string,
  at: Pick<UnmetRequirement, 'change' | 'field'> = {},
): UnmetRequirement {
  return { reason: 'PreflightFailed', what: `${what}: not checked: ${why}`, remedy: '', severity: 'skipped', ...at };
}

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

/** The follow-ups from the document, as a part of a change. */
export function owing({ owes }: { readonly owes?: readonly FollowUp[] }): Pick<Change, 'owes'> {
  return owes === undefined ? {} : { owes };
}

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

/** The functions of the run that a change may use. */
export interface Execution {
  /** Aborted at a deadline or by a signal; pass it to every command and wait. */
  readonly signal: AbortSignal;
  /** Reports what is being waited for; shown in the status as `waitingFor`. */
  waitingFor(what: string | undefined): void;
  /** A line of a child's output, streamed to the operator. */
  output(source: string, line: string): void;
  /** Something the operator should know that does not fail the run. */
  warn(message: string): void;
  /** Marks something that a run created as no longer ours. */
  release(path: string, of?: Resource): void;
  /** Leaves a JSON note in the journal, durable before it returns; the next `inspect` finds it in the record. */
  remember(note: unknown): void;
}
