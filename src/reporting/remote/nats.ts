import type { NATSCredentials, NATSServer, NATSSinkModel } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type ReportEvent, SIZE_CLASSES, sizeOf, truncateEvent } from '@machineadm/status/event.ts';
import type { Authenticator, NatsConnection, TlsOptions } from '@nats-io/transport-node';
import { trustedRoots } from '../../host/http/trusted-roots.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from './remote-sink.ts';

/** max_payload is 1 MiB by default; the server's actual value is used, too. Some KiB are for the headers. */
const HEADER_BYTES = 4 * 1024;

/** JetStream error codes for an invalid message (nats-server server/errors.json). */
const MESSAGE_EXCEEDS_MAXIMUM = 10054;

/**
 * Publishes to a subject and waits for the acknowledgement of the stream that stored it. The event's id is the message
 * id (`Nats-Msg-Id`), so that a stream drops duplicates within its window.
 */
export function natsSink(model: NATSSinkModel): RemoteSink {
  const target = model.servers.map(({ host, port, secure }) => `${secure ? 'tls' : 'nats'}://${host}:${port}`);
  return {
    kind: 'NATS',
    target: `${target.join(', ')} ${model.subject}`,
    capacity: SIZE_CLASSES.full,
    async prepare() {
      await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
    },
    async deliver(event, context) {
      const connection = await connectToAny(model, context);
      // Ends everything in progress; the client's own timeouts are longer.
      const stop = (): void => void connection.close();
      context.signal.addEventListener('abort', stop, { once: true });
      try {
        return await publish(connection, event, model, context.signal);
      } finally {
        context.signal.removeEventListener('abort', stop);
        await connection.close();
      }
    },
  };
}

/** One connection per event: the next event may come an hour later. */
async function connectToAny(model: NATSSinkModel, context: DeliveryContext): Promise<NatsConnection> {
  const { connect } = await import('@nats-io/transport-node');
  const authenticator = await authenticatorOf(model.credentials, context);
  const secured = await tlsOf(model, context);
  const servers = inAnyOrder(model.servers);
  const failures: string[] = [];
  for (const { host, port, secure } of servers) {
    context.signal.throwIfAborted();
    const name = host.replace(/^\[|\]$/g, '');
    // `host`: with an existing socket Node would check the certificate for "localhost" if the server is named by an
    // address.
    const tls: TlsOptions & { readonly host: string } = { ...secured, host: name };
    try {
      return await connect({
        servers: `${host}:${port}`,
        name: 'machineadm',
        // A server that does not answer must leave time for the others.
        timeout: Math.max(500, Math.floor(model.timeoutMs / servers.length)),
        reconnect: false,
        ignoreClusterUpdates: true,
        noAsyncTraces: true,
        ...(secure || model.tls.clientCertificate !== undefined ? { tls } : {}),
        ...omitUndefined({ authenticator, inboxPrefix: model.inboxPrefix }),
      });
    } catch (error) {
      failures.push(`${host}:${port}: ${errorMessage(error)}`);
    }
  }
  throw new Error(failures.join('; '));
}

async function publish(
  connection: NatsConnection,
  event: ReportEvent,
  model: NATSSinkModel,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const { jetstream, JetStreamApiError } = await import('@nats-io/jetstream');
  const { RequestError } = await import('@nats-io/transport-node');
  const most = (connection.info?.max_payload ?? SIZE_CLASSES.large) - HEADER_BYTES;
  const sent = truncateEvent(event, most);
  if (sizeOf(sent) > most) return { kind: 'refused', why: `the server takes no more than ${most} bytes` };
  try {
    const options = {
      msgID: event.id,
      timeout: model.timeoutMs,
      ...(model.stream === undefined ? {} : { expect: { streamName: model.stream } }),
    };
    await jetstream(connection).publish(model.subject, JSON.stringify(sent), options);
    return { kind: 'delivered' };
  } catch (error) {
    if (signal.aborted) throw error;
    // The client reports that JetStream is not enabled, which is only one possible reason why no stream stores a
    // subject.
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof RequestError && cause.isNoResponders()) {
      return { kind: 'retry', why: `no stream listens on ${model.subject}, or JetStream is off` };
    }
    const refused = error instanceof JetStreamApiError && error.code === MESSAGE_EXCEEDS_MAXIMUM;
    return { kind: refused ? 'refused' : 'retry', why: errorMessage(error) };
  }
}

async function authenticatorOf(
  credentials: NATSCredentials | undefined,
  { secret }: DeliveryContext,
): Promise<Authenticator | undefined> {
  if (credentials === undefined) return undefined;
  const nats = await import('@nats-io/transport-node');
  switch (credentials.kind) {
    case 'token':
      return nats.tokenAuthenticator((await secret(credentials.token)).reveal());
    case 'password':
      return nats.usernamePasswordAuthenticator(credentials.user, (await secret(credentials.password)).reveal());
    case 'nkey':
      return nats.nkeyAuthenticator(bytesOf((await secret(credentials.seed)).reveal()));
    case 'credentialsFile':
      return nats.credsAuthenticator(bytesOf((await secret(credentials.content)).reveal()));
  }
}

/**
 * The client passes options that are missing in its types on to tls.connect() (nats.js
 * transport-node/src/node_transport.ts).
 */
type SecureOptions = TlsOptions & { readonly rejectUnauthorized: true; readonly minVersion: 'TLSv1.2' };

async function tlsOf({ tls }: NATSSinkModel, context: DeliveryContext): Promise<SecureOptions> {
  const own = tls.certificateAuthority === undefined ? [] : [tls.certificateAuthority];
  const roots = await trustedRoots([...context.certificateAuthorities, ...own]);
  const client = tls.clientCertificate;
  return {
    ca: roots.join('\n'),
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(client === undefined ? {} : { cert: client.certificate, key: (await context.secret(client.key)).reveal() }),
  };
}

/** So that ten thousand machines do not all begin with the first server. */
function inAnyOrder(servers: readonly NATSServer[]): readonly NATSServer[] {
  return servers
    .map((server) => ({ server, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ server }) => server);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
