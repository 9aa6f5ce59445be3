import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Identity } from './api-server.ts';
import { againstContract } from './event-contract.ts';
import { startServer, type TestServer } from './http-servers.ts';

/** A secret as Standard Webhooks has it; only tests use it. */
export const WEBHOOK_SECRET = `whsec_${Buffer.from('a key of thirty-two bytes, yes!!').toString('base64')}`;

export interface Received {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly [field: string]: unknown };
}

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Events that were taken, in order, each as often as it was taken. */
  readonly taken: readonly Received[];
  /** Why requests were not taken. */
  readonly refusals: readonly string[];
  /** Every byte that came: headers and bodies. */
  readonly heard: readonly string[];
}

export interface ReceiverOptions {
  readonly identity?: Identity;
  /** Its clock, seconds since the epoch. */
  readonly seconds?: () => number;
}

/** As the specification recommends. */
const TOLERANCE_S = 300;

/**
 * A receiver that takes nothing it cannot verify: the signature (computed here from the specification, not with our own
 * code), the time of it, the CloudEvent's required attributes, its id against the header, the event against its published schema.
 */
export async function startWebhookReceiver(options: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const taken: Received[] = [];
  const refusals: string[] = [];
  const heard: string[] = [];
  const seconds = options.seconds ?? (() => Date.now() / 1000);
  const server: TestServer = await startServer((request, body) => {
    heard.push(JSON.stringify(request.headers), body);
    const date = new Date(seconds() * 1000).toUTCString();
    const wrong = whatIsWrong(request, body, seconds());
    if (wrong === undefined) taken.push(JSON.parse(body) as Received);
    else refusals.push(wrong);
    return { status: wrong === undefined ? 204 : 401, headers: { date } };
  }, options.identity);
  return {
    url: `${server.url}/hook`,
    port: server.port,
    taken,
    refusals,
    heard,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function whatIsWrong({ method, headers }: IncomingMessage, body: string, now: number): string | undefined {
  if (method !== 'POST') return `method ${method}`;
  if (!/^application\/cloudevents\+json(;|$)/.test(headers['content-type'] ?? '')) return 'content type';
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'headers';
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_S) return 'timestamp';
  const key = Buffer.from(WEBHOOK_SECRET.slice('whsec_'.length), 'base64');
  const expected = `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  if (!signatures.split(' ').includes(expected)) return 'signature';
  const event: unknown = JSON.parse(body);
  if (typeof event !== 'object' || event === null) return 'body';
  const { specversion, type, source, id: eventId, data } = event as Record<string, unknown>;
  if (specversion !== '1.0' || typeof type !== 'string' || type === '' || typeof source !== 'string')
    return 'CloudEvent';
  return eventId === id ? againstContract(data) : 'id';
}
