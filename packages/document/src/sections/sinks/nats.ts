import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { all, any, given, has, is, must, not, text, when } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { PRIVATE_NATS, whyExposed } from '../../fields/loopback.ts';
import { allowInsecure, PORT, secret } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import {
  type RemoteOptions,
  remoteFields,
  type SinkTlsModel,
  sinkSchema,
  tlsFields,
  toRemoteOptions,
  toSinkTls,
} from './sink.ts';

/** A subject of NATS that a stream of JetStream listens on. */
export interface NATSSinkModel extends RemoteOptions {
  readonly kind: 'NATS';
  readonly servers: readonly NATSServer[];
  readonly subject: string;
  /** The stream that must be the one to store it; undefined = whichever listens. */
  readonly stream: string | undefined;
  readonly credentials: NATSCredentials | undefined;
  /** What the subjects of answers begin with; undefined = `_INBOX`. */
  readonly inboxPrefix: string | undefined;
  readonly tls: SinkTlsModel;
}

export interface NATSServer {
  readonly host: string;
  readonly port: number;
  /** Whether it must speak TLS: `tls://`. */
  readonly secure: boolean;
}

export type NATSCredentials =
  | { readonly kind: 'token'; readonly token: SecretValue }
  | { readonly kind: 'password'; readonly user: string; readonly password: SecretValue }
  /** Content of a `.creds` file: a JWT and a seed. */
  | { readonly kind: 'credentialsFile'; readonly content: SecretValue }
  | { readonly kind: 'nkey'; readonly seed: SecretValue };

const DEFAULT_PORT = 4222;
const SERVER = /^(nats|tls):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(\d{1,5}))?$/;

const subject = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/, 'not a subject without wildcards, such as "machines.bootstrap"');

const schema = sinkSchema(
  'NATS',
  'A subject of NATS that a stream of JetStream stores.',
  { servers: ['tls://nats.example.com:4222'], subject: 'machines.bootstrap' },
  {
    servers: field(
      z.array(z.string().regex(SERVER, 'not a server, such as "tls://nats.example.com:4222"')).min(1).max(16),
      'The servers, tried in a new random order each time. A tls:// server must speak TLS; port 4222 is the default.',
      { example: ['tls://nats.example.com:4222'] },
    ),
    subject: field(subject, 'The subject that events are published to. A stream of JetStream must listen on it.', {
      example: 'machines.bootstrap',
    }),
    stream: field(
      z.string().regex(/^[A-Za-z0-9_-]+$/, 'not the name of a stream'),
      'The stream that must store the events.',
      { absent: 'any stream that listens on the subject', example: 'BOOTSTRAP' },
    ),
    credentials: field(
      z.union(
        [
          object({ token: field(secret, 'A token.', { example: { secret: 'natsToken' } }) }),
          object({
            user: field(z.string().min(1), 'A user name.', { example: 'agent' }),
            password: field(secret, 'The password of the user.', { example: { secret: 'natsPassword' } }),
          }),
          object({
            credentialsFile: field(
              secret,
              'The content of a .creds file, which holds a JWT and a seed. The seed is never sent.',
              { example: { secret: 'natsCredentials' } },
            ),
          }),
          object({
            nkey: field(secret, 'The seed of a user (nkey). It is never sent.', { example: { secret: 'natsSeed' } }),
          }),
        ],
        { error: 'expected one of {token}, {user, password}, {credentialsFile}, {nkey}' },
      ),
      'How the sink proves its identity. A token or a password is sent as it is, so it needs tls:// or allowInsecure.',
      { absent: 'none', example: { credentialsFile: { secret: 'natsCredentials' } } },
    ),
    inboxPrefix: field(subject, 'The prefix of the subjects that the server answers on.', {
      default: '_INBOX',
      example: '_INBOX.agents',
    }),
    allowInsecure,
    ...tlsFields,
    ...remoteFields,
  },
  () => [
    must('servers[]', text(new RegExp(`^(?:nats|tls):\\/\\/(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(?::${PORT})?$`))),
    when(
      all(given('credentials', any(has('token'), has('password'))), not(is('allowInsecure', true))),
      must('servers[]', text(new RegExp(`^tls:|${PRIVATE_NATS.source}`))),
    ),
  ],
);

type NATSSinkSection = z.infer<typeof schema>;

function checkNATSSink(section: NATSSinkSection, path: readonly PathSegment[]): Finding[] {
  const { credentials } = section;
  const findings: Finding[] = [];
  for (const [index, text] of section.servers.entries()) {
    const server = toServer(text);
    const at = [...path, 'servers', index];
    if (server.port < 1 || server.port > 65535) findings.push({ path: at, message: 'not a port: 1 to 65535' });
    // JWT and nkey answer a challenge; a token and a password are sent as they are.
    const bare = credentials !== undefined && ('token' in credentials || 'password' in credentials);
    if (bare && section.allowInsecure !== true && !server.secure && !PRIVATE_NATS.test(text)) {
      const what = 'token' in credentials ? 'the token' : 'the password';
      const hint = 'write tls://, or use credentialsFile or nkey, which are never sent; allowInsecure: true permits it';
      findings.push({
        path: at,
        message: `${what} would be ${whyExposed(text)}, and the connection is not encrypted`,
        hint,
      });
    }
  }
  return findings;
}

function toNATSSink(section: NATSSinkSection, name: string, resolve: ResolveSecret): NATSSinkModel {
  return {
    kind: 'NATS',
    ...toRemoteOptions(section, name),
    servers: section.servers.map(toServer),
    subject: section.subject,
    stream: section.stream,
    credentials: toCredentials(section.credentials, name, resolve),
    inboxPrefix: section.inboxPrefix,
    tls: toSinkTls(section, resolve, name),
  };
}

function toServer(text: string): NATSServer {
  const [, scheme, host = '', port] = SERVER.exec(text) ?? [];
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port), secure: scheme === 'tls' };
}

function toCredentials(
  section: NATSSinkSection['credentials'],
  name: string,
  resolve: ResolveSecret,
): NATSCredentials | undefined {
  if (section === undefined) return undefined;
  if ('token' in section) return { kind: 'token', token: resolve(section.token, `the token of ${name}`) };
  if ('password' in section) {
    const password = resolve(section.password, `the password of ${name}`);
    return { kind: 'password', user: section.user, password };
  }
  if ('nkey' in section) return { kind: 'nkey', seed: resolve(section.nkey, `the nkey of ${name}`) };
  return { kind: 'credentialsFile', content: resolve(section.credentialsFile, `the credentials file of ${name}`) };
}

export const nats = { schema, check: checkNATSSink, toModel: toNATSSink };
