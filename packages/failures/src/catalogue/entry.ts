import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/**
 * The source of a line. `unit` is the service manager's present state of a service, `check` a present measurement, and
 * `end` the last error of a component that ended (`endings.ts`).
 */
export type LineSource =
  | 'kubeadm'
  | 'kubelet'
  | 'containerd'
  | 'container'
  | 'systemd'
  | 'kernel'
  | 'unit'
  | 'check'
  | 'end';

/**
 * The chain from the machine to kubeadm: whatever fails at one place makes the later ones fail. The earliest place with
 * evidence of an ending or a refusal has the cause.
 */
export const PLACES = [
  'kernel',
  'filesystem',
  'services',
  'runtime',
  'kubelet',
  'etcd',
  'apiServer',
  'components',
  'network',
  'kubeadm',
] as const;
export type Place = (typeof PLACES)[number];

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
  /** Where in the chain it fails. Lines about a component of the control plane have the place of the component. */
  readonly place: Place;
  /** Decides within a place, and within a line. Causes are above 75, symptoms below 50. */
  readonly priority: number;
  /**
   * A state that may explain a failure, and may be harmless: it counts only where nothing ended by a known cause, or
   * where what ended does not say why.
   */
  readonly circumstantial?: true;
  /** Tested against one line without colours, log prefixes and indentation. No flags; linear on hostile lines. */
  readonly pattern: RegExp;
  /** Counts only if another line of this source also matches one of these. */
  readonly confirmedBy?: readonly { readonly source: LineSource; readonly pattern: RegExp }[];
  /** Counts only where kubeadm printed nothing: its own words say more. */
  readonly onlyWithoutKubeadm?: true;
  /** A later line of the same log that shows that it succeeded in the end: then it is a symptom at most. */
  readonly overcomeBy?: RegExp;
  /** True where the same command may succeed later with the same input. */
  readonly retryable: boolean;
  readonly cleanup: Cleanup;
  /** What is wrong, where a line says more than the reason means. `$1` is the first group of the pattern. */
  readonly says?: string;
  /** What to do. `$1` is the first group of the pattern. */
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

/** An entry as its topic lists it. The topic has a place; an entry of it may have another one. */
export type TopicEntry = Omit<CatalogueEntry, 'place'> & { readonly place?: Place };

/** A line that looks like a failure but is not. */
export interface NoiseEntry {
  readonly id: string;
  readonly pattern: RegExp;
  readonly reference: string;
  readonly example: string;
}
