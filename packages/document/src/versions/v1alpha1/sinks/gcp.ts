import * as z from 'zod';
import type { GCPSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import { allowInsecure, httpUrl } from '../fields.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

const PUBLIC_ENDPOINT = 'https://pubsub.googleapis.com';

export const gcpSink = define(
  'GCPSink',
  object({
    type: field(z.literal('GCP'), 'The kind of receiver.'),
    topic: field(
      z
        .string()
        .regex(
          /^projects\/[a-z][a-z0-9.:-]*[a-z0-9]\/topics\/[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/,
          'not a topic, such as projects/my-project/topics/bootstrap',
        ),
      'The Pub/Sub topic, as projects/PROJECT/topics/TOPIC.',
      { example: 'projects/my-project/topics/bootstrap' },
    ),
    serviceAccount: field(
      z.string().regex(/^[A-Za-z0-9-]+@[A-Za-z0-9.-]+$/, 'not the address of a service account'),
      'The service account to use, one of those attached to the machine.',
      { absent: 'the default service account of the machine', example: 'bootstrap@my-project.iam.gserviceaccount.com' },
    ),
    endpoint: field(httpUrl, 'The URL of Pub/Sub, for a regional or private endpoint.', {
      default: 'https://pubsub.googleapis.com',
      example: 'https://europe-west1-pubsub.googleapis.com',
    }),
    allowInsecure,
    ...remoteFields,
  }),
  'A topic of Google Cloud Pub/Sub, with the service account of the machine.',
  { type: 'GCP', topic: 'projects/my-project/topics/bootstrap' },
);

export function toGCPSink(section: z.infer<typeof gcpSink>, name: string): GCPSinkModel {
  return {
    kind: 'GCP',
    ...toRemoteOptions(section, name),
    topic: section.topic,
    serviceAccount: section.serviceAccount,
    endpoint: (section.endpoint ?? PUBLIC_ENDPOINT).replace(/\/+$/, ''),
  };
}
