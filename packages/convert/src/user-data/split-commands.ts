import type { CommandSpec } from '../spec/spec.ts';

/** How user data runs kubeadm, as fields can say it. */
export interface KubeadmRun {
  readonly command: 'init' | 'join';
  /** The paths of kubeadm's configuration; undefined where its flags say everything. */
  readonly path: string | undefined;
  readonly verbosity: number | undefined;
  /** A path of the sentinel that differs from Cluster API's contract. */
  readonly sentinel: string | undefined;
  /** What the flags say, by the kind of the configuration. */
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** The commands before and after kubeadm. */
export interface SplitCommands {
  /** undefined where no command runs kubeadm in a way that fields can say. */
  readonly run: KubeadmRun | undefined;
  readonly before: readonly CommandSpec[];
  readonly after: readonly CommandSpec[];
}
