import type { AWSSinkModel } from './model-sinks/aws.ts';
import type { AzureSinkModel } from './model-sinks/azure.ts';
import type { ExecSinkModel } from './model-sinks/exec.ts';
import type { GCPSinkModel } from './model-sinks/gcp.ts';
import type { GuestinfoSinkModel } from './model-sinks/guestinfo.ts';
import type { KubernetesSinkModel, NodeSinkModel } from './model-sinks/kubernetes.ts';
import type { NATSSinkModel } from './model-sinks/nats.ts';
import type { OTLPSinkModel } from './model-sinks/otlp.ts';
import type { WebhookSinkModel } from './model-sinks/webhook.ts';

export type * from './model-sinks/aws.ts';
export type * from './model-sinks/azure.ts';
export type * from './model-sinks/exec.ts';
export type * from './model-sinks/gcp.ts';
export type * from './model-sinks/guestinfo.ts';
export type * from './model-sinks/kubernetes.ts';
export type * from './model-sinks/nats.ts';
export type * from './model-sinks/otlp.ts';
export type * from './model-sinks/remote.ts';
export type * from './model-sinks/webhook.ts';

/** A sink of this machine: told by the run itself, as it happens. */
export type LocalSinkModel =
  | { readonly kind: 'Journal' | 'SystemdNotify' | 'WindowsEventLog' }
  | { readonly kind: 'Console'; readonly device: string };

/**
 * A sink that is told by the deliverer, a process of its own. Its variant is one file in `model-sinks/` and one line here.
 * Whatever is secret in it is a `SecretValue`: everything else of it is written to disk as it is.
 */
export type RemoteSinkModel =
  | AWSSinkModel
  | AzureSinkModel
  | ExecSinkModel
  | GCPSinkModel
  | GuestinfoSinkModel
  | KubernetesSinkModel
  | NATSSinkModel
  | NodeSinkModel
  | OTLPSinkModel
  | WebhookSinkModel;

export type SinkModel = LocalSinkModel | RemoteSinkModel;
