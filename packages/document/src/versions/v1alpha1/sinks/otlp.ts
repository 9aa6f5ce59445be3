import * as z from 'zod';
import type { OTLPSinkModel } from '../../../model-sinks.ts';
import { headersOf, type ResolveSecret } from '../convert-values.ts';
import { allowInsecure, headers, httpUrl } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions, toSinkTls } from './fields.ts';

// A trace is told when it is complete: there is nothing to choose.
const { events: _events, ...fields } = remoteFields;

const NOT_A_TRACEPARENT = 'not a traceparent (W3C Trace Context), such as 00-<32 hex digits>-<16 hex digits>-01';

export const otlpSink = z.strictObject({
  type: z.literal('OTLP'),
  url: httpUrl,
  headers: headers.optional(),
  allowInsecure,
  traceparent: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/, { error: NOT_A_TRACEPARENT, abort: true })
    .regex(/^00-0*[1-9a-f][0-9a-f]*-0*[1-9a-f]/, NOT_A_TRACEPARENT)
    .optional(),
  ...tlsFields,
  ...fields,
});

export function toOTLPSink(section: z.infer<typeof otlpSink>, name: string, resolve: ResolveSecret): OTLPSinkModel {
  return {
    kind: 'OTLP',
    ...toRemoteOptions({ ...section, events: ['concluded'] }, name),
    url: section.url,
    headers: headersOf(section.headers, resolve, `the sink ${name}`),
    traceparent: section.traceparent,
    tls: toSinkTls(section, resolve, name),
  };
}
