import * as z from 'zod';
import type { WebhookSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import { headersOf, type ResolveSecret } from '../convert-values.ts';
import { allowInsecure, headers, httpUrl, secret } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions, toSinkTls } from './fields.ts';

export const webhookSink = define(
  'WebhookSink',
  object({
    type: field(z.literal('Webhook'), 'The kind of receiver.'),
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
  }),
  'An HTTP endpoint that gets each event as a CloudEvent.',
  { type: 'Webhook', url: 'https://events.example/bootstrap' },
);

export function toWebhookSink(
  section: z.infer<typeof webhookSink>,
  name: string,
  resolve: ResolveSecret,
): WebhookSinkModel {
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
