import * as z from 'zod';
import type { GCPSinkModel } from '../../../model-sinks.ts';
import { allowInsecure, httpUrl } from '../fields.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

const PUBLIC_ENDPOINT = 'https://pubsub.googleapis.com';

export const gcpSink = z.strictObject({
  type: z.literal('GCP'),
  topic: z
    .string()
    .regex(
      /^projects\/[a-z][a-z0-9.:-]*[a-z0-9]\/topics\/[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/,
      'not a topic, such as projects/my-project/topics/bootstrap',
    ),
  serviceAccount: z
    .string()
    .regex(/^[A-Za-z0-9-]+@[A-Za-z0-9.-]+$/, 'not the address of a service account')
    .optional(),
  endpoint: httpUrl.optional(),
  allowInsecure,
  ...remoteFields,
});

export function toGCPSink(section: z.infer<typeof gcpSink>, name: string): GCPSinkModel {
  return {
    kind: 'GCP',
    ...toRemoteOptions(section, name),
    topic: section.topic,
    serviceAccount: section.serviceAccount,
    endpoint: (section.endpoint ?? PUBLIC_ENDPOINT).replace(/\/+$/, ''),
  };
}
