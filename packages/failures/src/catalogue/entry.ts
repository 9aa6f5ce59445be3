import type { Reason } from '@machineadm/document/reasons.ts';

/** The source of a line. `unit` is the service manager's present state of a service, `check` a present measurement. */
export type LineSource = 'kubeadm' | 'kubelet' | 'containerd' | 'container' | 'systemd' | 'kernel' | 'unit' | 'check';

/**
 * What must precede another attempt on the same machine; `reset+member` also requires that the etcd member is removed.
 */
export type Cleanup = 'none' | 'reset' | 'reset+member';

/** A failure in the catalogue, with the line that proves it. */
export interface CatalogueEntry {
  /** Stable and unique. */
  readonly id: string;
  /** The usual source of the line. Other sources count as well, unless `only` is set. */
  readonly source: LineSource;
  /** The text means something else in other sources: the entry counts only in lines of its source. */
  readonly only?: true;
  /**
   * `cause` explains the failure, `generic` names its area, `symptom` is a consequence of a cause; a `warning` is
   * printed without any failure, and is never named as the reason.
   */
  readonly kind: 'cause' | 'generic' | 'symptom' | 'warning';
  readonly reason: Reason;
  /** The highest of all matches wins; causes are above 75, symptoms below 50. */
  readonly priority: number;
  /** Tested against one line without colours, log prefixes and indentation. No flags; linear on hostile lines. */
  readonly pattern: RegExp;
  /** Counts only if another line of this source also matches one of these. */
  readonly confirmedBy?: readonly { readonly source: LineSource; readonly pattern: RegExp }[];
  /** A later line of any source that shows that it succeeded in the end: then it is a symptom at most. */
  readonly overcomeBy?: RegExp;
  /** True where the same command may succeed later with the same input. */
  readonly retryable: boolean;
  readonly cleanup: Cleanup;
  readonly remedy: string;
  /** The origin of the text: a source file, an issue. */
  readonly reference: string;
  /** An example line as the program prints it. */
  readonly example: string;
  /**
   * The example was written from knowledge of the program, neither captured nor found in a source: the match is only
   * likely.
   */
  readonly composed?: true;
}

/** A line that looks like a failure but is not. */
export interface NoiseEntry {
  readonly id: string;
  readonly pattern: RegExp;
  readonly reference: string;
  readonly example: string;
}
