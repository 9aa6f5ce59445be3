import type { Reason } from '@machineadm/document/reasons.ts';

/** Where a line was read. `unit` is what the service manager says of a service now, `check` what was measured now. */
export type LineSource = 'kubeadm' | 'kubelet' | 'containerd' | 'container' | 'systemd' | 'kernel' | 'unit' | 'check';

/** What must precede another attempt on the same machine; `reset+member` = also see that the etcd member is gone. */
export type Cleanup = 'none' | 'reset' | 'reset+member';

/** One failure the catalogue can name, by a line that proves it. */
export interface CatalogueEntry {
  /** Stable and unique. */
  readonly id: string;
  /** Where the line is usually found. It counts wherever it is found, unless `only` is set. */
  readonly source: LineSource;
  /** The text means something else in other places: the entry counts only in lines of its source. */
  readonly only?: true;
  /**
   * `cause` explains the failure, `generic` names its area, `symptom` is what a cause leads to; a `warning` is said
   * without anything having failed, and is never named as the reason.
   */
  readonly kind: 'cause' | 'generic' | 'symptom' | 'warning';
  readonly reason: Reason;
  /** The highest of all lines found wins; causes lie above 75, symptoms below 50. */
  readonly priority: number;
  /** Tested against one line without colours, log prefixes and indentation. No flags; linear on hostile lines. */
  readonly pattern: RegExp;
  /** Counts only if another line, of this source, says this as well; one of several is enough. */
  readonly confirmedBy?: readonly { readonly source: LineSource; readonly pattern: RegExp }[];
  /** A later line, of any source, that shows it went well in the end: then it is a symptom of something at most. */
  readonly overcomeBy?: RegExp;
  /** True where the same command may succeed later with the same input. */
  readonly retryable: boolean;
  readonly cleanup: Cleanup;
  readonly remedy: string;
  /** Where the text comes from: a source file, an issue. */
  readonly reference: string;
  /** A line as the program prints it. */
  readonly example: string;
  /** The example was written from knowledge of the program, and neither captured nor found in a source: likely only. */
  readonly composed?: true;
}

/** A line that looks like a failure and is none. */
export interface NoiseEntry {
  readonly id: string;
  readonly pattern: RegExp;
  readonly reference: string;
  readonly example: string;
}
