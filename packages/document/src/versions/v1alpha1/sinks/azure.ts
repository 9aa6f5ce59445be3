import * as z from 'zod';
import type { Finding, PathSegment } from '../../../diagnostics.ts';
import type { AzureSinkModel } from '../../../model-sinks.ts';
import { allowInsecure, httpUrl } from '../fields.ts';
import { oneOf } from './exclusive.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const azureSink = z.strictObject({
  type: z.literal('Azure'),
  queueURL: httpUrl
    .regex(
      /\/[a-z0-9](?:-?[a-z0-9]){2,62}\/?$/,
      'not the URL of a queue, such as https://account.queue.core.windows.net/bootstrap',
    )
    .optional(),
  topicEndpoint: httpUrl
    .regex(
      /\/api\/events$/,
      'not the endpoint of a topic, such as https://bootstrap.westeurope-1.eventgrid.azure.net/api/events',
    )
    .optional(),
  clientID: z.uuid({ error: 'not a client id: a UUID' }).optional(),
  allowInsecure,
  ...remoteFields,
});

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
