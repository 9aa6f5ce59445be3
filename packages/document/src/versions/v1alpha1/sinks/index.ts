import * as z from 'zod';
import type { SinkModel } from '../../../model-sinks.ts';
import type { ResolveSecret } from '../convert-values.ts';
import { awsSink, toAWSSink } from './aws.ts';
import { azureSink, toAzureSink } from './azure.ts';
import { execSink, toExecSink } from './exec.ts';
import { gcpSink, toGCPSink } from './gcp.ts';
import { guestinfoSink, toGuestinfoSink } from './guestinfo.ts';
import { kubernetesSink, nodeSink, toKubernetesSink, toNodeSink } from './kubernetes.ts';
import { consoleSink, journalSink, systemdNotifySink, windowsEventLogSink } from './local.ts';
import { natsSink, toNATSSink } from './nats.ts';
import { otlpSink, toOTLPSink } from './otlp.ts';
import { toWebhookSink, webhookSink } from './webhook.ts';

/**
 * How to add a remote sink, say `NATS`:
 *
 * 1. `document/model-sinks/nats.ts`: its model, `interface NATSSinkModel extends RemoteOptions {kind: 'NATS'; …}`; a line
 *    in `RemoteSinkModel`. Every secret in it is a `SecretValue`: that alone makes it redacted, kept out of the spool and
 *    found by `documentSecrets`.
 * 2. `document/versions/v1alpha1/sinks/nats.ts`: its schema (`type` and `remoteFields`) and `toNATSSink`; one line here
 *    in `sinkSection`, one in `toSink`. What the schema cannot say goes into `checks-reporting.ts`.
 * 3. `reporting/remote/nats.ts`: a `RemoteSink`; one line in `reporting/remote/registry.ts`.
 *
 * Spool, order, retries, deadlines, `report flush` and `report test` follow by themselves.
 */
export const sinkSection = z.discriminatedUnion('type', [
  journalSink,
  consoleSink,
  systemdNotifySink,
  windowsEventLogSink,
  execSink,
  kubernetesSink,
  nodeSink,
  natsSink,
  awsSink,
  gcpSink,
  azureSink,
  otlpSink,
  guestinfoSink,
  webhookSink,
]);

export type SinkSection = z.infer<typeof sinkSection>;

/** @param name what the sink is called where the document gives it no name */
export function toSink(section: SinkSection, name: string, resolve: ResolveSecret): SinkModel {
  switch (section.type) {
    case 'Journal':
    case 'SystemdNotify':
    case 'WindowsEventLog':
      return { kind: section.type };
    case 'Console':
      return { kind: 'Console', device: section.device ?? '/dev/console' };
    case 'Exec':
      return toExecSink(section, name, resolve);
    case 'Kubernetes':
      return toKubernetesSink(section, name, resolve);
    case 'Node':
      return toNodeSink(section, name);
    case 'NATS':
      return toNATSSink(section, name, resolve);
    case 'AWS':
      return toAWSSink(section, name);
    case 'GCP':
      return toGCPSink(section, name);
    case 'Azure':
      return toAzureSink(section, name);
    case 'OTLP':
      return toOTLPSink(section, name, resolve);
    case 'Guestinfo':
      return toGuestinfoSink(section, name);
    case 'Webhook':
      return toWebhookSink(section, name, resolve);
  }
}
