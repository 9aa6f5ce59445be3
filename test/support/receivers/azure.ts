import { startServer } from '../http-servers.ts';
import { eventIn, type Received, type Receiver } from './receiver.ts';

/** The queue `bootstrap` of Azure Storage, as strict as Put Message's reference. */
export async function startStorageQueue(token: () => string): Promise<Receiver> {
  const received: Received[] = [];
  const seen: string[] = [];
  const server = await startServer((request, body) => {
    const { authorization, ...headers } = request.headers;
    seen.push(JSON.stringify(headers), body);
    const refused = (status: number, code: string) => ({
      status,
      headers: { 'x-ms-error-code': code },
      body: `<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code></Error>`,
    });
    const version = String(headers['x-ms-version']);
    // A token of Entra ID needs this version (authorize-with-azure-active-directory).
    if (!/^\d{4}-\d\d-\d\d$/.test(version) || version < '2017-11-09') return refused(400, 'InvalidHeaderValue');
    if (authorization !== `Bearer ${token()}`) return refused(401, 'InvalidAuthenticationInfo');
    const at = Date.parse(String(headers['x-ms-date']));
    if (!/ GMT$/.test(String(headers['x-ms-date'])) || Math.abs(at - Date.now()) > 900_000)
      return refused(403, 'AuthenticationFailed');
    if (request.method !== 'POST' || request.url !== '/bootstrap/messages') return refused(404, 'QueueNotFound');
    const [, text] = /^<QueueMessage><MessageText>([^<>&]*)<\/MessageText><\/QueueMessage>$/.exec(body) ?? [];
    if (text === undefined) return refused(400, 'InvalidXmlDocument');
    if (Buffer.byteLength(text) > 64 * 1024) return refused(413, 'RequestBodyTooLarge');
    const event = eventIn(Buffer.from(text, 'base64').toString());
    seen.push(JSON.stringify(event));
    received.push({ id: event.id, event });
    const message = `<MessageId>${crypto.randomUUID()}</MessageId><PopReceipt>p</PopReceipt>`;
    return { status: 201, body: `<QueueMessagesList><QueueMessage>${message}</QueueMessage></QueueMessagesList>` };
  });
  return receiver(server, received, seen);
}

interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly time: string;
  readonly data: unknown;
}

/** A topic of Event Grid with the CloudEvents schema: checks what CloudEvents 1.0 requires. */
export async function startEventGrid(token: () => string): Promise<Receiver> {
  const received: Received[] = [];
  const seen: string[] = [];
  const server = await startServer((request, body) => {
    const { authorization, ...headers } = request.headers;
    seen.push(JSON.stringify(headers), body);
    if (authorization !== `Bearer ${token()}`) return { status: 401, body: '{"error":{"code":"Unauthorized"}}' };
    const url = new URL(request.url ?? '/', 'http://grid');
    if (url.pathname !== '/api/events' || url.searchParams.get('api-version') !== '2018-01-01') return { status: 404 };
    if (!/^application\/cloudevents\+json; charset=utf-8$/.test(String(headers['content-type'])))
      return { status: 415 };
    if (Buffer.byteLength(body) > 1_000_000) return { status: 413 };
    const cloudEvent: CloudEvent = JSON.parse(body);
    const event = eventIn(JSON.stringify(cloudEvent.data));
    const valid =
      cloudEvent.specversion === '1.0' &&
      cloudEvent.id === event.id &&
      cloudEvent.source.startsWith('/') &&
      cloudEvent.type !== '' &&
      !Number.isNaN(Date.parse(cloudEvent.time));
    if (!valid) return { status: 400 };
    received.push({ id: event.id, event });
    return { status: 200 };
  });
  return receiver(server, received, seen);
}

function receiver(
  server: { readonly port: number } & AsyncDisposable,
  received: readonly Received[],
  seen: readonly string[],
): Receiver {
  return {
    port: server.port,
    received,
    seen: () => seen.join('\n'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
