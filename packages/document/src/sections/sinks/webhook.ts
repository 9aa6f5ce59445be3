import type * as z from 'zod';
import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { credentialsOverTls, must, writtenSecret } from '../../fields/conditions.ts';
import { headersOf, type ResolveSecret } from '../../fields/convert-values.ts';
import { field } from '../../fields/field.ts';
import { allowInsecure, headers, httpUrl, secret } from '../../fields/types.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import { trimmedEnd } from '../../text/trim.ts';
import { type SecretsSection, writtenValue } from '../secrets.ts';
import {
  type RemoteOptions,
  remoteFields,
  type SinkTlsModel,
  sinkSchema,
  tlsFields,
  toRemoteOptions,
  toSinkTls,
} from './sink.ts';

/** An HTTP endpoint that takes CloudEvents, signed as Standard Webhooks. */
export interface WebhookSinkModel extends RemoteOptions {
  readonly kind: 'Webhook';
  readonly url: string;
  /** `whsec_` and base64; each makes a signature, so that a receiver can change to a new one. [] = unsigned. */
  readonly signingSecrets: readonly SecretValue[];
  readonly headers: Readonly<Record<string, SecretValue>>;
  readonly tls: SinkTlsModel;
}

/** Standard Webhooks: 24 to 64 bytes in base64. */
const SIGNING_SECRET =
  /^\s*(?:whsec_)?(?:(?:[A-Za-z0-9+/]{4}){8,20}(?:[A-Za-z0-9+/]{2,3})?|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/]{2})?)=*\s*$/;

const schema = sinkSchema(
  'Webhook',
  'An HTTP endpoint that gets each event as a CloudEvent.',
  { url: 'https://events.example/bootstrap' },
  {
    url: field(
      httpUrl,
      'The URL that gets each event as a CloudEvent in a POST request. It is no secret, so put tokens into headers. Redirects are not followed.',
      { example: 'https://events.example/bootstrap' },
    ),
    secret: field(
      secret,
      'The key that signs each request (Standard Webhooks), as whsec_ and 24 to 64 bytes in base64.',
      { absent: 'requests are not signed', example: { secret: 'webhookKey' } },
    ),
    previousSecret: field(
      secret,
      'A second key that signs as well, while the receiver changes from one key to the next.',
      { absent: 'one key signs', example: { secret: 'previousWebhookKey' } },
    ),
    headers,
    allowInsecure,
    ...tlsFields,
    ...remoteFields,
  },
  () => [
    credentialsOverTls('url'),
    must('secret', writtenSecret(SIGNING_SECRET)),
    must('previousSecret', writtenSecret(SIGNING_SECRET)),
  ],
);

function toWebhookSink(section: z.infer<typeof schema>, name: string, resolve: ResolveSecret): WebhookSinkModel {
  const { secret: first, previousSecret } = section;
  const signing = [first, previousSecret].filter((field) => field !== undefined);
  return {
    kind: 'Webhook',
    ...toRemoteOptions(section, name),
    url: section.url,
    signingSecrets: signing.map((field, index) =>
      resolve(field, `the ${index === 0 ? 'secret' : 'previous secret'} of the sink ${name}`),
    ),
    headers: headersOf(section.headers, resolve, `the sink ${name}`),
    tls: toSinkTls(section, resolve, `the sink ${name}`),
  };
}

/** A secret that is written down must be one of Standard Webhooks; a reference is known only where it is used. */
function checkSecrets(
  section: z.infer<typeof schema>,
  path: readonly PathSegment[],
  secrets: SecretsSection,
): Finding[] {
  return (['secret', 'previousSecret'] as const).flatMap((field) => {
    const value = writtenValue(section[field], secrets);
    if (value === undefined || isWebhookSecret(value)) return [];
    const message = 'not a secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64';
    return [{ path: [...path, field], message, hint: 'make one with: echo "whsec_$(openssl rand -base64 32)"' }];
  });
}

/** The prefix may be left out, as the specification's libraries let it be. */
function isWebhookSecret(text: string): boolean {
  const base64 = trimmedEnd(text.trim().replace(/^whsec_/, ''), '=');
  const bytes = Math.floor((base64.length * 3) / 4);
  return /^[A-Za-z0-9+/]+$/.test(base64) && base64.length % 4 !== 1 && bytes >= 24 && bytes <= 64;
}

export const webhook = { schema, check: checkSecrets, toModel: toWebhookSink };
