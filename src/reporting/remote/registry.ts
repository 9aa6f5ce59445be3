import type { LocalSinkModel, RemoteSinkModel, SinkModel } from '@machineadm/document/model.ts';
import type { RemoteSink } from './remote-sink.ts';

type Openers = {
  readonly [Kind in RemoteSinkModel['kind']]: (model: Extract<RemoteSinkModel, { kind: Kind }>) => Promise<RemoteSink>;
};

/** One line a sink: what it needs is loaded where it is used. */
const OPENERS: Openers = {
  AWS: async (model) => (await import('./aws.ts')).awsSink(model),
  Azure: async (model) => (await import('./azure.ts')).azureSink(model),
  Exec: async (model) => (await import('./exec.ts')).execSink(model),
  Kubernetes: async (model) => (await import('./kubernetes.ts')).kubernetesSink(model),
  Node: async (model) => (await import('./node.ts')).nodeSink(model),
  GCP: async (model) => (await import('./gcp.ts')).gcpSink(model),
  Guestinfo: async () => (await import('./guestinfo.ts')).guestinfoSink(),
  NATS: async (model) => (await import('./nats.ts')).natsSink(model),
  OTLP: async (model) => (await import('./otlp.ts')).otlpSink(model),
  Webhook: async (model) => (await import('./webhook.ts')).webhookSink(model),
};

/** The sink of a model. Connects to nothing yet. */
export async function remoteSinkOf(model: RemoteSinkModel): Promise<RemoteSink> {
  // The table is keyed by the very kind that `model` has; the compiler cannot follow that through an index.
  const open = OPENERS[model.kind] as (model: RemoteSinkModel) => Promise<RemoteSink>;
  return await open(model);
}

/** Whether a sink is told by the deliverer, and not by the run itself. */
export function isRemote(model: SinkModel): model is RemoteSinkModel {
  return isRemoteKind(model.kind);
}

export function isRemoteKind(kind: string): kind is RemoteSinkModel['kind'] {
  return Object.hasOwn(OPENERS, kind);
}

export function isLocal(model: SinkModel): model is LocalSinkModel {
  return !isRemote(model);
}
