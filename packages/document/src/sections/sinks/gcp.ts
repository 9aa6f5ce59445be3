import { field } from '../../fields/field.ts';
import { allowInsecure, httpUrl } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { trimmedEnd } from '../../text/trim.ts';
import { type RemoteOptions, remoteFields, sinkSchema, toRemoteOptions } from './sink.ts';

/** A topic of Google Cloud Pub/Sub. */
export interface GCPSinkModel extends RemoteOptions {
  readonly kind: 'GCP';
  /** `projects/PROJECT/topics/TOPIC` */
  readonly topic: string;
  /** Of those attached to the machine; undefined = its default one. */
  readonly serviceAccount: string | undefined;
  /** Without a slash at its end. */
  readonly endpoint: string;
}

const PUBLIC_ENDPOINT = 'https://pubsub.googleapis.com';

const schema = sinkSchema(
  'GCP',
  'A topic of Google Cloud Pub/Sub, with the service account of the machine.',
  { topic: 'projects/my-project/topics/bootstrap' },
  {
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
  },
);

function toGCPSink(section: z.infer<typeof schema>, name: string): GCPSinkModel {
  return {
    kind: 'GCP',
    ...toRemoteOptions(section, name),
    topic: section.topic,
    serviceAccount: section.serviceAccount,
    endpoint: trimmedEnd(section.endpoint ?? PUBLIC_ENDPOINT, '/'),
  };
}

export const gcp = { schema, toModel: toGCPSink };
