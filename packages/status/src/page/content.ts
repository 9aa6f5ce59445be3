import type { Version } from '@machineadm/document/text/program-version.ts';
import type { Reported } from '../summary.ts';

/**
 * The content of a page. Every part may be absent: a machine that never ran machineadm also has a page in its bundle.
 */
export interface PageContent {
  readonly status?: Reported | undefined;
  readonly facts?: PageFacts | undefined;
  /** Why the bootstrap failed, according to `machineadm diagnose`; without it, according to the status. */
  readonly verdict?: PageVerdict | undefined;
  /** The findings of `machineadm doctor`. */
  readonly checks?: readonly PageCheck[];
  /** The changes that a run of the document would make; absent without a document. */
  readonly plan?: readonly PagePlannedChange[];
  /** The other files of the page's bundle. */
  readonly files?: readonly string[];
  readonly agentVersion: string;
  /** Absent in a bundle: the same files make the same bytes. */
  readonly madeAt?: Date;
  /** The title of a step, by its id. */
  readonly titleOf: (step: string) => string;
}

/** The facts about a machine that a page shows. */
export interface PageFacts {
  readonly hostname: string;
  readonly machineId: string;
  readonly bootId: string;
  /** `ID` and `VERSION_ID` of os-release(5). */
  readonly os: { readonly id: string; readonly version: string };
  readonly kernel: string;
  readonly architecture: string;
  readonly serviceManager: string;
  /** undefined = not installed. */
  readonly containerd: Version | undefined;
  readonly kubeadm: Version | undefined;
  readonly kubelet: Version | undefined;
  readonly nodeAddresses: readonly string[];
  readonly cloudInstanceId: string | undefined;
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
