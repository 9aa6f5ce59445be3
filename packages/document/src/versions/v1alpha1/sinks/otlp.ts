import * as z from 'zod';
import type { OTLPSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import { headersOf, type ResolveSecret } from '../convert-values.ts';
import { allowInsecure, headers, httpUrl } from '../fields.ts';
import { remoteFields, tlsFields, toRemoteOptions, toSinkTls } from './fields.ts';

// A trace is told when it is complete: there is nothing to choose.
const { events: _events, ...fields } = remoteFields;

const NOT_A_TRACEPARENT = 'not a traceparent (W3C Trace Context), such as 00-<32 hex digits>-<16 hex digits>-01';

export const otlpSink = define(
  'OTLPSink',
  object({
    type: field(z.literal('OTLP'), 'The kind of receiver.'),
    url: field(
      httpUrl,
      'The URL of the collector, complete with its path. The run is sent as one trace with a span for each step (OTLP/HTTP, JSON).',
      { example: 'https://collector.example.com:4318/v1/traces' },
    ),
    headers,
    allowInsecure,
    traceparent: field(
      z
        .string()
        .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/, { error: NOT_A_TRACEPARENT, abort: true })
        .regex(/^00-0*[1-9a-f][0-9a-f]*-0*[1-9a-f]/, NOT_A_TRACEPARENT),
      'The span that the run belongs to (W3C Trace Context).',
      { absent: 'the run is a trace of its own', example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    ),
    ...tlsFields,
    ...fields,
  }),
  'A collector of OpenTelemetry, which gets the run as a trace (OTLP/HTTP, JSON).',
  { type: 'OTLP', url: 'https://collector.example.com:4318/v1/traces' },
);

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
