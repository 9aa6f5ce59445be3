import type { Facts } from '../../host/seam/facts.ts';
import type { Reported } from '../status-file.ts';

/** What a page shows. Every part may be absent: a machine that never ran machineadm has a page in its bundle, too. */
export interface PageContent {
  readonly status?: Reported | undefined;
  readonly facts?: Facts | undefined;
  /** Why the bootstrap failed, as `machineadm diagnose` finds it; without it, what the status says. */
  readonly verdict?: PageVerdict | undefined;
  /** What `machineadm doctor` found. */
  readonly checks?: readonly PageCheck[];
  /** What a run of the document would change; absent without a document. */
  readonly plan?: readonly PagePlannedChange[];
  /** The other files of the bundle that holds this page. */
  readonly files?: readonly string[];
  readonly agentVersion: string;
  /** Absent in a bundle: the same files make the same bytes. */
  readonly madeAt?: Date;
  /** What people call a step, by its id. */
  readonly titleOf: (step: string) => string;
}

export interface PageVerdict {
  readonly outcome: 'success' | 'failure';
  readonly reason: string;
  readonly summary: string;
  readonly remedy: string;
  readonly evidence: readonly PageEvidence[];
  readonly causes: readonly string[];
}

export interface PageEvidence {
  readonly source: string;
  /** From 1; 0 where the source has no lines. */
  readonly line?: number;
  readonly text: string;
}

export interface PageCheck {
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly text: string;
  readonly remedy?: string;
}

export interface PagePlannedChange {
  readonly step: string;
  readonly summary: string;
}
