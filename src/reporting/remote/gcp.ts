import type { GCPSinkModel } from '@machineadm/document/model/index.ts';
import { type ReportEvent, SIZE_CLASSES } from '@machineadm/status/event.ts';
import { MetadataService } from '../../host/cloud/metadata-service.ts';
import { attributesOf } from './attributes.ts';
import { exchange, jsonOf } from './http-exchange.ts';
import { type RemoteSink, resultOfStatus } from './remote-sink.ts';

/**
 * Publishes to a topic of Pub/Sub with the token of the machine's service account.
 * https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish
 */
export function gcpSink(model: GCPSinkModel, metadata: MetadataService = new MetadataService()): RemoteSink {
  return {
    kind: 'GCP',
    target: model.topic,
    // A request is limited to 10 MB (quotas, "Resource limits"); no event comes near.
    capacity: SIZE_CLASSES.full,
    async deliver(event, { http, clock, signal }) {
      const account = model.serviceAccount;
      const token = await metadata.identityToken('gcp', { account, until: signal });
      const answer = await exchange(await http(), {
        url: `${model.endpoint}/v1/${model.topic}:publish`,
        method: 'POST',
        headers: { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' },
        body: JSON.stringify(publication(event)),
        signal,
      });
      if (answer.status !== 200) return resultOfStatus(answer.status, answer.headers, clock().time);
      // A proxy or portal also answers 200.
      if (isReceipt(jsonOf(answer))) return { kind: 'delivered' };
      return { kind: 'retry', why: 'the answer is not from Pub/Sub' };
    },
  };
}

function publication(event: ReportEvent): object {
  const data = Buffer.from(JSON.stringify(event)).toString('base64');
  // In order within a run, for subscriptions with ordering.
  return { messages: [{ data, attributes: attributesOf(event), orderingKey: event.runId }] };
}

function isReceipt(answer: unknown): boolean {
  if (answer === null || typeof answer !== 'object' || !('messageIds' in answer)) return false;
  const { messageIds } = answer;
  return Array.isArray(messageIds) && messageIds.length === 1 && typeof messageIds[0] === 'string';
}
