import * as z from 'zod';
import type { WebhookSinkModel } from '../../../model-sinks.ts';
import { headersOf, type ResolveSecret } from '../convert-values.ts';
import { allowInsecure, httpUrl, secret } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions, toSinkTls } from './fields.ts';

export const webhookSink = z
  .strictObject({
    type: z.literal('Webhook'),
    url: httpUrl
      .describe('Not a secret: put tokens into headers. Redirects are not followed.'),
    secret: secret.optional().describe('Signs each request (Standard Webhooks): whsec_ and 24 to 64 bytes in base64.'),
    previousSecret: secret.optional().describe('Signs as well, while a receiver changes from one secret to the next.'),
    headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret).optional(),
    allowInsecure,
    ...tlsFields,
    ...remoteFields,
  })
  .describe('Posts each event as a CloudEvent to an HTTP endpoint.');

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
