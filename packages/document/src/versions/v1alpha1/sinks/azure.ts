import * as z from 'zod';
import type { Finding, PathSegment } from '../../../diagnostics.ts';
import type { AzureSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import { allowInsecure, httpUrl } from '../fields.ts';
import { oneOf } from './exclusive.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const azureSink = define(
  'AzureSink',
  object({
    type: field(z.literal('Azure'), 'The kind of receiver.'),
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
  }),
  'A queue of Azure Storage or a topic of Event Grid, with the managed identity of the machine.',
  { type: 'Azure', queueURL: 'https://account.queue.core.windows.net/bootstrap' },
);

export type AzureSinkSection = z.infer<typeof azureSink>;

export function checkAzureSink(section: AzureSinkSection, path: readonly PathSegment[]): Finding[] {
  return oneOf(section, ['queueURL', 'topicEndpoint'], path);
}

export function toAzureSink(section: AzureSinkSection, name: string): AzureSinkModel {
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
