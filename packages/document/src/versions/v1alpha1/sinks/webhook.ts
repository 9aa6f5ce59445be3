import * as z from 'zod';
import type { WebhookSinkModel } from '../../../model-sinks.ts';
import { headersOf, type ResolveSecret } from '../convert-values.ts';
import { allowInsecure, headers, httpUrl, secret } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions, toSinkTls } from './fields.ts';

export const webhookSink = z.strictObject({
  type: z.literal('Webhook'),
  url: httpUrl,
  secret: secret.optional(),
  previousSecret: secret.optional(),
  headers: headers.optional(),
  allowInsecure,
  ...tlsFields,
  ...remoteFields,
});

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
