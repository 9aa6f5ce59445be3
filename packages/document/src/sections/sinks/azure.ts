import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { exactlyOne } from '../../fields/conditions.ts';
import { field } from '../../fields/field.ts';
import { allowInsecure, httpUrl } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { exactlyOneOf, type RemoteOptions, remoteFields, sinkSchema, toRemoteOptions } from './sink.ts';

/** A queue of Azure Storage, or a topic of Event Grid. */
export interface AzureSinkModel extends RemoteOptions {
  readonly kind: 'Azure';
  readonly destination:
    | { readonly kind: 'queue' /** Of the queue, without a slash at its end. */; readonly url: string }
    | { readonly kind: 'topic' /** Of the topic: `…/api/events`. */; readonly endpoint: string };
  /** Client id of a user-assigned identity; undefined = the system-assigned one, or the only one. */
  readonly clientID: string | undefined;
}

const schema = sinkSchema(
  'Azure',
  'A queue of Azure Storage or a topic of Event Grid, with the managed identity of the machine.',
  { queueURL: 'https://account.queue.core.windows.net/bootstrap' },
  {
    queueURL: field(
      httpUrl.regex(
        /\/[a-z0-9](?:-?[a-z0-9]){2,62}\/?$/,
        'not the URL of a queue, such as https://account.queue.core.windows.net/bootstrap',
      ),
      'The URL of a queue of Azure Storage. Give this or topicEndpoint.',
      { absent: 'topicEndpoint is the receiver', example: 'https://account.queue.core.windows.net/bootstrap' },
    ),
    topicEndpoint: field(
      httpUrl.regex(
        /\/api\/events$/,
        'not the endpoint of a topic, such as https://bootstrap.westeurope-1.eventgrid.azure.net/api/events',
      ),
      'The endpoint of an Event Grid topic with the CloudEvents 1.0 schema. Give this or queueURL.',
      { absent: 'queueURL is the receiver', example: 'https://bootstrap.westeurope-1.eventgrid.azure.net/api/events' },
    ),
    clientID: field(
      z.uuid({ error: 'not a client id: a UUID' }),
      'The client ID of a user-assigned managed identity.',
      {
        absent: 'the system-assigned identity, or the only one',
        example: '11111111-2222-4333-8444-555555555555',
      },
    ),
    allowInsecure,
    ...remoteFields,
  },
  () => [exactlyOne('queueURL', 'topicEndpoint')],
);

type AzureSinkSection = z.infer<typeof schema>;

function checkAzureSink(section: AzureSinkSection, path: readonly PathSegment[]): Finding[] {
  return exactlyOneOf(section, ['queueURL', 'topicEndpoint'], path);
}

function toAzureSink(section: AzureSinkSection, name: string): AzureSinkModel {
  const { queueURL, topicEndpoint } = section;
  return {
    kind: 'Azure',
    ...toRemoteOptions(section, name),
    destination:
      topicEndpoint === undefined
        ? { kind: 'queue', url: (queueURL ?? '').replace(/\/$/, '') }
        : { kind: 'topic', endpoint: topicEndpoint },
    clientID: section.clientID,
  };
}

export const azure = { schema, check: checkAzureSink, toModel: toAzureSink };
