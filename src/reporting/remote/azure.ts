import type { AzureSinkModel } from '@machineadm/document/model/index.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { MetadataService } from '../../host/cloud/metadata-service.ts';
import type { HttpRequest } from '../../host/seam/http.ts';
import { CLOUD_EVENT_TYPE, cloudEvent } from './cloud-event.ts';
import { exchange } from './http-exchange.ts';
import { type DeliveryResult, type RemoteSink, resultOfStatus } from './remote-sink.ts';

/** A message of a queue is limited to 64 KiB (Put Message), which in base64 is three quarters of that. */
const QUEUE_BYTES = 48 * 1024;
/** An event of Event Grid is limited to 1 MB (quotas); some KiB are for the envelope. */
const TOPIC_BYTES = 1_000_000 - 8 * 1024;
/** Put Message with a token of Entra ID exists since 2017-11-09; this version is available in every cloud. */
const STORAGE_VERSION = '2021-12-02';

/** Sends messages to a queue of Azure Storage, or publishes to an Event Grid topic, with the managed identity. */
export function azureSink(model: AzureSinkModel, metadata: MetadataService = new MetadataService()): RemoteSink {
  const { destination } = model;
  const isQueue = destination.kind === 'queue';
  const audience = isQueue ? 'https://storage.azure.com/' : 'https://eventgrid.azure.net';
  return {
    kind: 'Azure',
    target: isQueue ? destination.url : destination.endpoint,
    capacity: isQueue ? QUEUE_BYTES : TOPIC_BYTES,
    async deliver(event, { http, clock, signal }) {
      const token = await metadata.identityToken('azure', { audience, account: model.clientID, until: signal });
      const now = clock().time;
      const request = isQueue ? putMessage(destination.url, event, now) : publish(destination.endpoint, event);
      const headers = { ...request.headers, authorization: `Bearer ${token.reveal()}` };
      const answer = await exchange(await http(), { ...request, headers, signal });
      return resultOfAzure(answer, isQueue, now);
    },
  };
}

/** https://learn.microsoft.com/rest/api/storageservices/put-message */
function putMessage(queue: string, event: ReportEvent, nowMs: number): HttpRequest {
  // base64, as Azure Functions expects it (host.json, queues.messageEncoding), which also needs no escaping.
  const text = Buffer.from(JSON.stringify(event)).toString('base64');
  return {
    url: `${queue}/messages`,
    method: 'POST',
    headers: {
      'content-type': 'application/xml',
      'x-ms-version': STORAGE_VERSION,
      'x-ms-date': new Date(nowMs).toUTCString(),
      'x-ms-client-request-id': event.id,
    },
    body: `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`,
  };
}

/** https://learn.microsoft.com/azure/event-grid/cloud-event-schema, structured mode */
function publish(endpoint: string, event: ReportEvent): HttpRequest {
  return {
    url: `${endpoint}?api-version=2018-01-01`,
    method: 'POST',
    headers: { 'content-type': CLOUD_EVENT_TYPE },
    body: JSON.stringify(cloudEvent(event)),
  };
}

function resultOfAzure(
  answer: { readonly status: number; readonly headers: ReadonlyMap<string, string>; readonly text: string },
  isQueue: boolean,
  nowMs: number,
): DeliveryResult {
  const { status, headers, text } = answer;
  // Event Grid answers 200 without a body. A proxy or portal answers with a page.
  const isReceipt = isQueue ? status === 201 && text.includes('<MessageId>') : status === 200 && text.trim() === '';
  if (isReceipt) return { kind: 'delivered' };
  if (status >= 200 && status < 300) return { kind: 'retry', why: 'the answer is not from Azure' };
  const code = headers.get('x-ms-error-code');
  return resultOfStatus(status, headers, nowMs, `HTTP ${status}${code === undefined ? '' : ` ${code}`}`);
}
