import type { WebhookSinkModel } from '@machineadm/document/model.ts';
import type { Secret } from '@machineadm/document/secret.ts';
import type { HttpAnswer } from '../../host/http/client.ts';
import { redactedRequest } from '../../host/http/client.ts';
import { type ReportEvent, SIZE_CLASSES, sizeOf, truncateEvent } from '../event.ts';
import { CLOUD_EVENT_TYPE, cloudEvent } from './cloud-event.ts';
import { type DeliveryContext, type DeliveryResult, type RemoteSink, resultOfStatus } from './remote-sink.ts';
import { signatureHeaders } from './webhook-signature.ts';

/** A clock that is off by more is why a signature was not accepted: receivers allow five minutes, some less. */
const TOLERATED_SKEW_MS = 60_000;
/** What of an answer is told on. */
const LONGEST_ANSWER = 200;

/**
 * Posts events as CloudEvents. A receiver that refuses because our clock is wrong tells the right time in `Date`: the
 * request is signed again by it, once. One for which an event is too large (413) gets a smaller one. A redirect is not
 * followed: the body would go where nobody decided that it should.
 */
export function webhookSink(model: WebhookSinkModel): RemoteSink {
  /** What the receiver's clock is ahead of ours. */
  let skewMs = 0;

  const post = async (event: ReportEvent, context: DeliveryContext): Promise<HttpAnswer> => {
    const body = JSON.stringify(cloudEvent(event));
    const secrets: Secret[] = [];
    for (const secret of model.signingSecrets) secrets.push(await context.secret(secret));
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(model.headers)) headers[name] = (await context.secret(value)).reveal();
    const seconds = Math.floor((context.clock().time + skewMs) / 1000);
    const client = await context.http(model.tls);
    return await client.request({
      url: model.url,
      method: 'POST',
      headers: { ...headers, 'content-type': CLOUD_EVENT_TYPE, ...signatureHeaders(event.id, seconds, body, secrets) },
      body,
      signal: context.signal,
    });
  };

  const deliverAs = async (event: ReportEvent, context: DeliveryContext): Promise<DeliveryResult> => {
    let answer = await post(event, context);
    const offMs = clockOffMs(answer, context.clock().time + skewMs);
    if (answer.status >= 400 && answer.status < 500 && model.signingSecrets.length > 0 && offMs !== 0) {
      await answer.discard();
      skewMs += offMs;
      answer = await post(event, context);
    }
    const { status, headers } = answer;
    const text = await beginningOf(answer);
    const redirect = status >= 300 && status < 400 ? `, a redirect to ${originOf(headers.get('location'))}` : '';
    return resultOfStatus(
      status,
      headers,
      context.clock().time + skewMs,
      `HTTP ${status}${redirect}${text === '' ? '' : `: ${text}`}`,
    );
  };

  return {
    kind: 'Webhook',
    target: redactedRequest('POST', model.url).replace(/^POST /, ''),
    capacity: SIZE_CLASSES.full,
    async deliver(event, context) {
      const sizes = [SIZE_CLASSES.large, SIZE_CLASSES.small].filter((size) => size < sizeOf(event));
      let result = await deliverAs(event, context);
      for (const size of sizes) {
        if (result.kind !== 'refused' || !result.why.startsWith('HTTP 413')) break;
        result = await deliverAs(truncateEvent(event, size), context);
      }
      return result;
    },
  };
}

/** How far `Date` of an answer is ahead of `nowMs`; 0 where that is not worth a word, or nothing is said. */
function clockOffMs({ headers }: HttpAnswer, nowMs: number): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) || Math.abs(date - nowMs) <= TOLERATED_SKEW_MS ? 0 : date - nowMs;
}

function originOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).origin : 'another path';
}

/** All of the answer must have come: an event counts as taken when the receiver said so to its last byte. */
async function beginningOf(answer: HttpAnswer): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of answer.body)
    if (text.length < LONGEST_ANSWER) text += decoder.decode(piece, { stream: true });
  return answer.status < 300 ? '' : text.slice(0, LONGEST_ANSWER).trim();
}
