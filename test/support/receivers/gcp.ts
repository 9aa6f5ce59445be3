import { startServer } from '../http-servers.ts';
import { eventIn, type Received, type Receiver } from './receiver.ts';

export interface PubSubReceiver extends Receiver {
  readonly attributes: readonly Readonly<Record<string, string>>[];
}

interface PublishRequest {
  readonly messages: readonly {
    readonly data: string;
    readonly attributes: Readonly<Record<string, string>>;
    readonly orderingKey?: string;
  }[];
}

/** Pub/Sub's publish, as strict as its reference: the token, the form, the limits of attributes. */
export async function startPubSub(topic: string, token: () => string): Promise<PubSubReceiver> {
  const received: Received[] = [];
  const attributes: Readonly<Record<string, string>>[] = [];
  const seen: string[] = [];
  const server = await startServer((request, body) => {
    const { authorization, ...headers } = request.headers;
    seen.push(JSON.stringify(headers), body);
    const refused = (code: number, status: string) => ({
      status: code,
      body: JSON.stringify({ error: { code, status, message: 'refused' } }),
    });
    if (authorization !== `Bearer ${token()}`) return refused(401, 'UNAUTHENTICATED');
    if (request.method !== 'POST' || request.url !== `/v1/${topic}:publish`) return refused(404, 'NOT_FOUND');
    if (headers['content-type'] !== 'application/json') return refused(400, 'INVALID_ARGUMENT');
    const { messages, ...other }: PublishRequest = JSON.parse(body);
    if (Object.keys(other).length > 0 || messages.length === 0) return refused(400, 'INVALID_ARGUMENT');
    for (const message of messages) {
      const pairs = Object.entries(message.attributes);
      // Quotas: 100 attributes, keys of 256 bytes, values of 1,024; an ordering key of 1,024.
      const fits = pairs.every(
        ([key, value]) => key !== '' && Buffer.byteLength(key) <= 256 && Buffer.byteLength(value) <= 1024,
      );
      if (pairs.length > 100 || !fits || Buffer.byteLength(message.orderingKey ?? '') > 1024)
        return refused(400, 'INVALID_ARGUMENT');
      if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(message.data))
        return refused(400, 'INVALID_ARGUMENT');
      const event = eventIn(Buffer.from(message.data, 'base64').toString());
      seen.push(JSON.stringify(event));
      received.push({ id: event.id, event });
      attributes.push(message.attributes);
    }
    return { body: JSON.stringify({ messageIds: messages.map((_, index) => `${received.length}${index}`) }) };
  });
  return {
    port: server.port,
    received,
    attributes,
    seen: () => seen.join('\n'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
