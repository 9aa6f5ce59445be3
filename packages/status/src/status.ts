import type { Failure } from '@machineadm/document/outcomes/errors.ts';

export type { Failure } from '@machineadm/document/outcomes/errors.ts';

/**
 * The status document, `/run/machineadm/status.json`: what the run does now and how it ended. Contains no secrets. For
 * root and the group `machineadm`; other users read its summary (`summary.ts`).
 */
export interface RunStatus {
  readonly apiVersion: 'machineadm.dev/status/v1';
  readonly kind: 'BootstrapStatus';
  readonly command: 'provision' | 'prepare' | 'upgrade';
  readonly runId: string;
  readonly agent: { readonly version: string };
  readonly machine: {
    readonly name: string;
    readonly namespace?: string;
    readonly cluster?: string;
    readonly uid?: string;
  };
  readonly host: {
    readonly machineId: string;
    readonly bootId: string;
    readonly hostname: string;
    /** Those that `kubernetes.node.addresses` selected, the primary one first. */
    readonly nodeAddresses?: readonly string[];
  };
  readonly document: {
    readonly sha256: string;
    /** Its files and directories; `-` is stdin. */
    readonly sources?: readonly string[];
    /** Whether units apply it once or at every boot; absent before it was read, and for an image. */
    readonly apply?: 'Once' | 'EveryBoot';
    /** When a successful run had applied it. */
    readonly appliedAt?: string;
  };
  /** The number of this instance's runs, including this one. */
  readonly attempt: number;
  readonly phase: Phase;
  /** The current step, or the last one. */
  readonly step?: string;
  readonly waitingFor?: string;
  /**
   * While the bootstrapper waits: what it probably waits for in vain, by the logs of the processes that it started. Absent when
   * nothing is known, and when the run has ended (then `failure` has the cause).
   */
  readonly probableCause?: ProbableCause;
  readonly startedAt: string;
  readonly updatedAt: string;
  /** The process of the run, so that a reader can tell an active run from a killed one. */
  readonly process: { readonly pid: number; readonly startTicks: number };
  readonly steps: readonly StepStatus[];
  readonly warnings: readonly string[];
  readonly conditions: readonly Condition[];
  readonly timeline: readonly TimelineEntry[];
  /** Failed bootstrap attempts of this run that were followed by another; absent without any. */
  readonly failedAttempts?: readonly FailedAttempt[];
  /** Set when phase is `Concluded`. */
  readonly outcome?: Outcome;
  readonly exitCode?: number;
  readonly failure?: Failure;
  /** Absent when the Node has it all, or the document asks for nothing of it. */
  readonly forManagement?: NodeHandover;
  /** The delivery state of the remote sinks; written by the deliverer, after the run ended. */
  readonly reports?: readonly SinkReport[];
  /** In the output of `machineadm status` only, for users who may read the journal. */
  readonly thisMachine?: ThisMachine;
}

/** What only the management side may set on the Node of this machine: labels and taints that no kubelet may set. */
export interface NodeHandover {
  /** The name of the Node. */
  readonly node: string;
  /** `key=value` */
  readonly labels: readonly string[];
  /** `key=value:Effect` */
  readonly taints: readonly string[];
  /** What sets them, for an administrator's kubeconfig. */
  readonly commands: readonly string[];
}

/**
 * What machineadm made of a machine so far, in the words that every command uses. Only commands that probe the node tell
 * a broken node from a node.
 */
export const MACHINE_STATES = ['never touched', 'prepared', 'host only', 'attempted', 'node', 'broken node'] as const;
export type MachineState = (typeof MACHINE_STATES)[number];

/** What a machine is, by its journal, and the documents that were applied to it. */
export interface ThisMachine {
  readonly state: MachineState;
  /** In the order in which they were applied first. */
  readonly documents: readonly MachineDocument[];
}

/** A document that was applied to this machine, or begun, and was not reset. */
export interface MachineDocument {
  /** `metadata.name`; where an earlier version did not record it, its sources. */
  readonly name: string;
  readonly command: 'provision' | 'prepare';
  readonly sources: readonly string[];
  /** How its last run ended; `Interrupted` also of one that was killed. */
  readonly outcome: Outcome | 'Running';
  /** When that run ended, or began where it did not. */
  readonly at: string;
}

/** The delivery state of a remote sink. It never changes how the run ended. */
export interface SinkReport {
  readonly sink: string;
  readonly type: string;
  /** The destination, without credentials. */
  readonly target: string;
  /**
   * `Pending`: some events are in the spool, for `machineadm report flush`. `Refused`: some will never be accepted.
   * `Lost`: some will not be delivered. `Unreadable`: some, or the sink's plan, were damaged on the disk.
   */
  readonly state: 'Delivered' | 'Pending' | 'Refused' | 'Lost' | 'Unreadable';
  readonly pending: number;
  readonly updatedAt: string;
  /** The reason, unless it is `Delivered`. */
  readonly message?: string;
}

/** A cause that was seen before the bootstrapper gave up. */
export interface ProbableCause {
  readonly reason: string;
  readonly summary: string;
  readonly remedy: string;
  /** The proof first. */
  readonly evidence: Failure['evidence'];
  /** When it was seen first. */
  readonly since: string;
}

export type Phase = 'Loading' | 'Preflight' | 'Host' | 'Kubernetes' | 'Concluding' | 'Concluded';
export type Outcome = 'Succeeded' | 'Failed' | 'Interrupted' | 'RebootRequired';

/** A bootstrap attempt that failed for a temporary cause. */
export interface FailedAttempt {
  /** From 1 in each run. */
  readonly attempt: number;
  readonly reason: string;
  readonly summary: string;
  readonly step?: string;
  readonly endedAt: string;
  readonly durationMs: number;
}

export interface StepStatus {
  readonly id: string;
  readonly state: 'Pending' | 'Running' | 'Succeeded' | 'Unchanged' | 'Failed' | 'Skipped';
  /** Ids of the changes made, including follow-ups, in order. */
  readonly changes: readonly string[];
  readonly startedAt?: string;
  readonly durationMs?: number;
}

/** `metav1.Condition` in the conventions of Cluster API v1beta2: False only for a terminal failure. */
export interface Condition {
  readonly type:
    | 'machineadm.dev/BootstrapSucceeded'
    | 'machineadm.dev/AfterBootstrapHooksSucceeded'
    | 'machineadm.dev/NodeLabelsSet';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** A span of the machine's start, measured from the kernel's boot by a monotonic clock. */
export interface TimelineEntry {
  readonly name: string;
  readonly sinceBootMs: number;
  readonly durationMs: number;
}

/** The events of a run; sinks get each as it happens. */
export type RunEvent =
  | { readonly kind: 'started'; readonly status: RunStatus }
  | { readonly kind: 'step'; readonly step: StepStatus; readonly status: RunStatus }
  | { readonly kind: 'waiting'; readonly step: string; readonly waitingFor: string; readonly status: RunStatus }
  /** Also when `status.probableCause` is new: then it is not among the warnings of the status. */
  | { readonly kind: 'warning'; readonly message: string; readonly status: RunStatus }
  | { readonly kind: 'concluded'; readonly status: RunStatus };
