import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { DocumentTree, NodeSite } from '../documents.ts';

/** Addresses of the first control planes that are joined: machines are broken side by side, each with a cluster of its own. */
export const FIRSTS = ['10.99.0.209', '10.99.0.219'] as const;

/** What the machine was to become. */
export type FaultRole = 'init' | 'worker' | 'control plane';

/** What a run must say about a sabotage. */
export interface ExpectedFailure {
  /** The true cause. */
  readonly reason: Reason;
  /** undefined: refused by the preflight, before any step. */
  readonly step?: string;
  readonly exitCode: number;
  /** A piece of evidence, or of the summary, that proves it. */
  readonly proof: RegExp;
}

/**
 * One way in which a machine is broken, and the truth about it. Its shell knows the machine as $NODE and $IP, and the first
 * control plane of the cluster that it joins as $FIRST and $FIRST_IP.
 */
export interface Sabotage {
  /** Stable; the row of the table, and the fixture, have this name. */
  readonly id: string;
  readonly role: FaultRole;
  /** What is broken, for a reader. */
  readonly what: string;
  /** Shell, on the machine, before the run. */
  readonly before?: string;
  /** Shell, on the machine, right before kubeadm is run: a hook of the document does it. */
  readonly hook?: string;
  /** Shell, on the machine, beside the run from its start; ended with the case. */
  readonly during?: string;
  /** Shell, on the first control plane, before the run. */
  readonly cluster?: string;
  /** Shell, on the first control plane, that takes `cluster` back; without it the first control plane is put back whole. */
  readonly restore?: string;
  /**
   * True where the join leaves a mark in the cluster, such as a member of etcd: the first control plane is put back whole.
   */
  readonly spoils?: true;
  /** True where it shows on other machines of the lab, too, which share one kernel and its log. */
  readonly alone?: true;
  /** What the document has besides; as a function, of the first control plane. */
  readonly document?: DocumentTree | ((first: NodeSite) => DocumentTree);
  readonly expected: ExpectedFailure | 'success';
  /** Why the expected reason is the area of the cause, and not the cause itself: nothing that can be observed tells more. */
  readonly area?: string;
  /** A fixture of `test/fixtures/transcripts` that has the same cause already. */
  readonly fixture?: string;
  /** It is refused before the run since its last run on a lab machine: it has no result until it runs again. */
  readonly unrecorded?: true;
  /** Part of the core set, which `npm run test:e2e` drives. */
  readonly core?: true;
}

/** What a run said about a sabotage, as it is recorded. */
export interface FaultResult {
  readonly id: string;
  readonly outcome: string;
  readonly exitCode: number;
  readonly reason: string;
  readonly step: string;
  /** The line that proves it; '' where there is none. */
  readonly evidence: string;
}
