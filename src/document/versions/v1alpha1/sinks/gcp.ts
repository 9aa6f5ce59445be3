import * as z from 'zod';
import type { GCPSinkModel } from '../../../model-sinks.ts';
import { httpUrl } from '../fields.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

const PUBLIC_ENDPOINT = 'https://pubsub.googleapis.com';

export const gcpSink = z
  .strictObject({
    type: z.literal('GCP'),
    topic: z
      .string()
      .regex(
        /^projects\/[a-z][a-z0-9.:-]*[a-z0-9]\/topics\/[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/,
        'not a topic, such as projects/my-project/topics/bootstrap',
      )
      .describe('Of Pub/Sub: projects/PROJECT/topics/TOPIC.'),
    serviceAccount: z
      .string()
      .regex(/^[A-Za-z0-9-]+@[A-Za-z0-9.-]+$/, 'not the address of a service account')
      .optional()
      .describe("One of those attached to the machine. Default: the machine's own."),
    endpoint: httpUrl
      .optional()
      .describe(`For regional and private endpoints. Default: ${PUBLIC_ENDPOINT}.`),
    ...remoteFields,
  })
  .describe('A topic of Google Cloud Pub/Sub, with the service account of the machine.');

export function toGCPSink(section: z.infer<typeof gcpSink>, name: string): GCPSinkModel {
  return {
    kind: 'GCP',
    ...toRemoteOptions(section, name),
    topic: section.topic,
    serviceAccount: section.serviceAccount,
    endpoint: (section.endpoint ?? PUBLIC_ENDPOINT).replace(/\/+$/, ''),
  };
}
