import type { LocalSinkModel, RemoteSinkModel, SinkModel } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { RemoteSink } from './remote-sink.ts';

type Openers = {
  readonly [Kind in RemoteSinkModel['kind']]: (
    model: Extract<RemoteSinkModel, { kind: Kind }>,
    files?: SinkFiles,
  ) => Promise<RemoteSink>;
};

/** Where a sink reads the files that its model names; default: this machine. */
export type SinkFiles = Pick<QueryHost, 'readText'>;

/** One line per sink: its modules are loaded on demand. */
const OPENERS: Openers = {
  AWS: async (model) => (await import('./aws.ts')).awsSink(model),
  Azure: async (model) => (await import('./azure.ts')).azureSink(model),
  Exec: async (model) => (await import('./exec.ts')).execSink(model),
  Kubernetes: async (model) => (await import('./kubernetes.ts')).kubernetesSink(model),
  Node: async (model, files) => (await import('./node.ts')).nodeSink(model, files),
  GCP: async (model) => (await import('./gcp.ts')).gcpSink(model),
  Guestinfo: async () => (await import('./guestinfo.ts')).guestinfoSink(),
  NATS: async (model) => (await import('./nats.ts')).natsSink(model),
  OTLP: async (model) => (await import('./otlp.ts')).otlpSink(model),
  Webhook: async (model) => (await import('./webhook.ts')).webhookSink(model),
};

/** The sink of a model. Does not connect yet. */
export async function remoteSinkOf(model: RemoteSinkModel, files?: SinkFiles): Promise<RemoteSink> {
  // The key is the `kind` of the model; the compiler cannot follow that through an index.
  const open = OPENERS[model.kind] as (model: RemoteSinkModel, files?: SinkFiles) => Promise<RemoteSink>;
  return await open(model, files);
}

/** Whether the deliverer reports to a sink, instead of the run itself. */
export function isRemote(model: SinkModel): model is RemoteSinkModel {
  return isRemoteKind(model.kind);
}

export function isRemoteKind(kind: string): kind is RemoteSinkModel['kind'] {
  return Object.hasOwn(OPENERS, kind);
}

export function isLocal(model: SinkModel): model is LocalSinkModel {
  return !isRemote(model);
}
