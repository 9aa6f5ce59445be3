import type { WebhookSinkModel } from '@machineadm/document/model/index.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { type ReportEvent, SIZE_CLASSES, sizeOf, truncateEvent } from '@machineadm/status/event.ts';
import { redactedRequest } from '../../host/http/client.ts';
import type { HttpAnswer } from '../../host/seam/http.ts';
import { CLOUD_EVENT_TYPE, cloudEvent } from './cloud-event.ts';
import { type DeliveryContext, type DeliveryResult, type RemoteSink, resultOfStatus } from './remote-sink.ts';
import { signatureHeaders } from './webhook-signature.ts';

/** A larger clock difference explains a refused signature: receivers allow five minutes, some less. */
const TOLERATED_SKEW_MS = 60_000;
/** How much of an answer is reported. */
const LONGEST_ANSWER = 200;

/**
 * Posts events as CloudEvents. If a receiver refuses because our clock is wrong, the request is signed again, once,
 * with the time in its `Date` header. If an event is too large for it (413), it gets a smaller one. Redirects are not
 * followed, because the body would go to an unintended server.
 */
export function webhookSink(model: WebhookSinkModel): RemoteSink {
  /** How far the receiver's clock is ahead of ours. */
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

/** How far `Date` of an answer is ahead of `nowMs`; 0 if small or missing. */
function clockOffMs({ headers }: HttpAnswer, nowMs: number): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) || Math.abs(date - nowMs) <= TOLERATED_SKEW_MS ? 0 : date - nowMs;
}

function originOf(location: string | undefined): string {
  return location !== undefined && URL.canParse(location) ? new URL(location).origin : 'another path';
}

/** An event counts as accepted only after the complete response. */
async function beginningOf(answer: HttpAnswer): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of answer.body)
    if (text.length < LONGEST_ANSWER) text += decoder.decode(piece, { stream: true });
  return answer.status < 300 ? '' : text.slice(0, LONGEST_ANSWER).trim();
}
