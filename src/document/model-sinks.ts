import type { ExecSinkModel } from './model-sinks/exec.ts';
import type { KubernetesSinkModel, NodeSinkModel } from './model-sinks/kubernetes.ts';

export type * from './model-sinks/exec.ts';
export type * from './model-sinks/kubernetes.ts';
export type * from './model-sinks/remote.ts';

/** A sink of this machine: told by the run itself, as it happens. */
export type LocalSinkModel = { readonly kind: 'Journal' } | { readonly kind: 'Console'; readonly device: string };

/**
 * A sink that is told by the deliverer, a process of its own. Its variant is one file in `model-sinks/` and one line here.
 * Whatever is secret in it is a `SecretValue`: everything else of it is written to disk as it is.
 */
export type RemoteSinkModel = ExecSinkModel | KubernetesSinkModel | NodeSinkModel;

export type SinkModel = LocalSinkModel | RemoteSinkModel;
