import type { Evidence } from '@machineadm/document/errors.ts';
import type { Model } from '@machineadm/document/model.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import type { StepId } from '@machineadm/document/step-ids.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { FileStat, Host, QueryHost } from '../host/seam/host.ts';
import type { Resource } from '../host/seam/resource.ts';
import type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
import type { FollowUp } from './follow-up.ts';
import type { Memory } from './prior-state/memory.ts';

export type { Inventory } from '../kubernetes/kubeadm/inventory.ts';
export type { FollowUp } from './follow-up.ts';

/**
 * What a step is. `desired` and `plan` are pure, `inspect` only reads, `apply` makes one change. The runner verifies a
 * step by inspecting and planning again: the second plan must be empty. docs/adding-a-step.md walks through one.
 */
export interface Step<Desired = unknown, Actual = unknown, Payload = unknown> {
  /** The same word in plan, journal, status, timeline and docs. */
  readonly id: StepId;
  /**
   * True for a step that turns the machine into a node, and not just prepares it: the journal knows the bootstrap by it,
   * and its failure may be worth another attempt (`pipeline/attempts.ts`). One of them at most has something to do.
   */
  readonly bootstraps?: true;
  /** Follow-ups that are performed right after this step's changes, once, however many changes owe them. */
  readonly settles?: readonly FollowUp[];
  /** The same, where the document decides which they are: the services that it names. Added to `settles`. */
  settlesFor?(desired: Desired, owed: ReadonlySet<FollowUp>): readonly FollowUp[];
  /** True for a step that runs commands of the document: what they change in files of earlier steps is intended. */
  readonly runsHooks?: true;
  /**
   * What hooks that just ran made of this step's files, by path, as notes: the next `inspect` finds them in the record
   * (`StepRecord.hookEdits`) and leaves such a file as it is. Absent: a hook may not change what this step manages.
   */
  hookEdits?(host: QueryHost, desired: Desired, record: StepRecord): Promise<ReadonlyMap<string, unknown>>;
  /**
   * Programs without which the step can do nothing. While one is missing, and hooks that may install it are still to run,
   * the step waits for them and runs right after them.
   */
  readonly needs?: readonly NodeProgram[];
  /**
   * The programs that its changes may put where programs are looked for. Where one of them is missing, its version is
   * read after the step, and what needs it is checked again.
   */
  brings?(desired: Desired): readonly NodeProgram[];
  /**
   * Brings what this step wrote in line with the programs that hooks after it have installed, and gives the notes of its
   * changes that are true now. Called when `desired` is not what it was before the hooks.
   */
  renew?(host: Host, desired: Desired, record: StepRecord, execution: Execution): Promise<ReadonlyMap<string, unknown>>;
  /** What a reset leaves of what this step did, and why: `images in the container runtime: …`. Absent: nothing. */
  readonly leaves?: string | ((did: Did) => readonly string[]);
  /** How long the step may take, from the document; undefined = only the overall deadline. In milliseconds. */
  deadlineMs?(desired: Desired): number | undefined;
  /** What the document asks of this step; undefined = nothing. */
  desired(model: Model, facts: Facts): Desired | undefined;
  /**
   * Paths that the step manages and that only the machine decides: the distribution's, or a user's home. What follows from
   * the document alone is in `document/ownership`, where it is checked without the machine. Absent: nothing more.
   */
  owns?(host: QueryHost, desired: Desired): Promise<readonly OwnedPath[]>;
  /**
   * What would make `apply` fail: tools, devices and names that it will need, and contents that their readers would refuse.
   * All steps are asked at once, and everything is reported together before any change, by `plan`, `doctor` and a run alike.
   * What is thrown counts as found, too. `record` says what was done before, where that decides.
   */
  preflight?(host: QueryHost, desired: Desired, record?: RanRecord): Promise<readonly UnmetRequirement[]>;
  /**
   * Reads the present state. `record` is what the journal knows about this step's earlier, perhaps interrupted, work.
   */
  inspect(host: QueryHost, desired: Desired, record: StepRecord): Promise<Actual>;
  /** What an operator should know of work that an earlier run did and that is not done again, though the document says more. */
  remarks?(desired: Desired, record: StepRecord, actual: Actual): readonly string[];
  /** The changes that are needed; none where the machine is as desired. */
  plan(desired: Desired, actual: Actual): readonly Change<Payload>[];
  /**
   * What is on the machine before the first change of this step that must not be repeated: the journal records it durably
   * before the change begins, and a reset keeps it. undefined: an earlier attempt may have written there, so that the
   * earlier record stays the one that counts.
   */
  inventory?(host: QueryHost, desired: Desired, record: StepRecord): Promise<Inventory | undefined>;
  /** Makes one change: atomic, or safe to meet half-done by the next `inspect`. */
  apply(host: Host, change: Change<Payload>, execution: Execution): Promise<void>;
  /**
   * Performs a follow-up that this step settles, where reloading or restarting is not all there is to it (putting back
   * what made a restart fail). Absent: the runner asks the service manager. It throws when the follow-up failed.
   */
  followUp?(host: Host, desired: Desired, followUp: FollowUp, execution: Execution): Promise<void>;
  /** Why changes that were made do not hold, as far as the machine tells. undefined: it does not. */
  whyNotEffective?(host: Host, desired: Desired, left: readonly Change<Payload>[]): Promise<Explanation | undefined>;
  /** True where there is nothing to do, as far as the journal tells: then it is no step of this run. Default false. */
  idle?(desired: Desired, record: StepRecord): boolean;
  /** Files, links and directories that it makes are removed once the document does not ask for them any more. */
  readonly owned?: true;
  /**
   * Called once after the step's changes and their follow-ups, before verification: to flush to disk or to wait for
   * health.
   */
  settled?(host: Host, desired: Desired, execution: Execution): Promise<void>;
}

/** The programs whose versions are facts about the machine. */
export const NODE_PROGRAMS = ['containerd', 'kubeadm', 'kubelet'] as const;
export type NodeProgram = (typeof NODE_PROGRAMS)[number];

/** What a step ever did on this instance: the ids of its changes and their last notes. */
export interface Did {
  readonly changes: ReadonlySet<string>;
  readonly notes: ReadonlyMap<string, unknown>;
}

/** Why a change does not hold. */
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
   * What it does to the machine. Default: as its diff shows, `remove` where it `removes`, `run` for what must not be
   * repeated blindly, else `change`.
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
  /** Steps whose remembered work this change destroys: what they did before counts no more. */
  readonly undoes?: readonly StepId[];
  /** Paths, with all below them, that this change deletes: a plan counts on it for the steps that follow. */
  readonly removes?: readonly string[];
  /** Paths that it writes, where a step has many: what is there is recorded for all its changes with one flush. */
  readonly writes?: readonly string[];
  /** What must follow this change; journalled as owed before the change is made. */
  readonly owes?: readonly FollowUp[];
  /**
   * True where the change holds only once the machine was rebooted. The run ends after the step that makes it, and goes on
   * behind the reboot with the same step, which then must not need another.
   */
  readonly needsReboot?: true;
  /** Set where the real content is known only after this earlier step ran, or once the secrets were read. */
  readonly knownAfter?: StepId | 'secrets';
  /** The reason reported when the change was made but does not hold when read back. */
  readonly ineffective?: Reason;
  readonly payload: Payload;
}

/** What a step works with that keeps a list of its own of what it made, for the document that does not ask for it any more. */
export type Prunable<Section> = Section & { readonly prune?: Model['host']['prune'] };

/** Something that `apply` needs and that is not there, or that it would fail over. */
export interface UnmetRequirement {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
  /** `node` where only changes of that scope need it: an image bake does not. Default `base`. */
  readonly scope?: 'base' | 'node';
  /** `failed` (default) refuses the run; `warning` is told, and the run begins; `skipped`: see `notChecked`. */
  readonly severity?: 'failed' | 'warning' | 'skipped';
  /** The id of the change that would fail: its place in the document is told. */
  readonly change?: string;
  /** The field of the document, where no change says it: `host.hooks.early.commands[2]`. */
  readonly field?: string;
  /** What proves it, such as what a tool printed. */
  readonly evidence?: readonly Evidence[];
  /**
   * True where no hook of the document can help: it refuses the run even while hooks are still to run. Default: what they may
   * bring is looked for again after them. With `change` the rest of the step is planned all the same.
   */
  readonly certain?: true;
}

/** Says that something could not be judged, and why: `no visudo`. Plan and doctor tell it, and it is never in the way. */
export function notChecked(
  what: string,
  why: string,
  at: Pick<UnmetRequirement, 'change' | 'field'> = {},
): UnmetRequirement {
  return { reason: 'PreflightFailed', what: `${what}: not checked: ${why}`, remedy: '', severity: 'skipped', ...at };
}

/** What the journal remembers of one step on this instance. */
export interface StepRecord {
  /** Changes started and not ended: the run was killed in them. */
  readonly interrupted: ReadonlySet<string>;
  /** Non-repeatable changes that were done, ever, on this instance. */
  readonly done: ReadonlySet<string>;
  /** Those of them that were done in this very run. */
  readonly doneInRun: ReadonlySet<string>;
  /** The last note each change left for itself (`Execution.remember`). */
  readonly notes: ReadonlyMap<string, unknown>;
  /** Files that hooks of this document changed after this step had put them in place: by path, what the step noted then. */
  readonly hookEdits: ReadonlyMap<string, unknown>;
  /** True when the journal on this disk belongs to another instance: what lies around is not this machine's. */
  readonly foreignLeftovers: boolean;
  /** How far this instance's bootstrapper ever came: never started, started and not proven finished, or done. */
  readonly bootstrap: 'none' | 'attempted' | 'done';
  /** The last notes of the bootstrapper's changes that were started and not done, or else of those that were done. */
  readonly attempts: readonly unknown[];
  /** What was there before the first attempt; undefined where none is on record, as in journals of older versions. */
  readonly inventory: Inventory | undefined;
  /** Whether nothing was at this path before a step wrote there. */
  created(path: string): boolean;
  /** What runs of this document made on this machine, whichever step, and nobody took away since: by path. */
  readonly owned: ReadonlyMap<string, OwnedPlace>;
  /** What they changed, whichever step, and how it was before. */
  memory(): Memory;
  /** Follow-ups owed by an earlier, killed run. */
  readonly owed: ReadonlySet<FollowUp>;
  /**
   * `owed`: a change of this step was begun, and perhaps made, that holds only behind a reboot, which has not come yet.
   * `done`: the machine was rebooted for this step, and the step was not found in order since.
   */
  readonly reboot: 'none' | 'owed' | 'done';
}

/** The part of the record that a preflight may use: which hooks are still to run, and what was created. */
export type RanRecord = Pick<StepRecord, 'done' | 'doneInRun' | 'interrupted' | 'notes'> &
  Partial<Pick<StepRecord, 'owned'>>;

export const EMPTY_RECORD: StepRecord = {
  interrupted: new Set(),
  done: new Set(),
  doneInRun: new Set(),
  notes: new Map(),
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
  }),
  owed: new Set(),
  reboot: 'none',
};

/** What the document says must follow a change, as a part of that change. */
export function owing({ owes }: { readonly owes?: readonly FollowUp[] }): Pick<Change, 'owes'> {
  return owes === undefined ? {} : { owes };
}

/** Something that a run created, and how it is recognised. */
export interface OwnedPlace {
  /** The step that created it. */
  readonly step: string;
  readonly type: 'file' | 'link' | 'directory' | 'block';
  /** For a block in a file of somebody else. */
  readonly block?: { readonly name: string; readonly comment: string };
  /** For a file: its `stampOf`. Absent while it is being written. */
  readonly stamp?: string;
  /** For a link: its target. */
  readonly target?: string;
  /** What must follow its removal. */
  readonly owes?: readonly FollowUp[];
}

/** What changes with the content of a file, and with no reboot: its inode and the time of its last change. */
export function stampOf({ fingerprint, size }: FileStat): string | undefined {
  return fingerprint === undefined ? undefined : `${size}:${fingerprint.slice(fingerprint.indexOf(':') + 1)}`;
}

/** What a running change may use of the run around it. */
export interface Execution {
  /** Aborted at a deadline or by a signal; pass it to every command and wait. */
  readonly signal: AbortSignal;
  /** Says what is being waited for; shown in status as `waitingFor`. */
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
