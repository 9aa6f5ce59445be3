import { credentialsOverTls } from '../../fields/conditions.ts';
import { headersOf, type ResolveSecret } from '../../fields/convert-values.ts';
import { field } from '../../fields/field.ts';
import { allowInsecure, headers, httpUrl } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import {
  type RemoteOptions,
  remoteFields,
  type SinkTlsModel,
  sinkSchema,
  tlsFields,
  toRemoteOptions,
  toSinkTls,
} from './sink.ts';

/** A collector of OpenTelemetry, which gets the run as a trace. */
export interface OTLPSinkModel extends RemoteOptions {
  readonly kind: 'OTLP';
  /** The whole of it, `…/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, SecretValue>>;
  /** The span that the run belongs to: W3C Trace Context, `00-TRACE-SPAN-FLAGS`. */
  readonly traceparent: string | undefined;
  readonly tls: SinkTlsModel;
}

// A trace is sent when it is complete, so there are no events to choose from.
const { events: _events, ...fields } = remoteFields;

const NOT_A_TRACEPARENT = 'not a traceparent (W3C Trace Context), such as 00-<32 hex digits>-<16 hex digits>-01';

const schema = sinkSchema(
  'OTLP',
  'A collector of OpenTelemetry, which gets the run as a trace (OTLP/HTTP, JSON).',
  { url: 'https://collector.example.com:4318/v1/traces' },
  {
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
      { absent: 'the run starts a new trace', example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    ),
    ...tlsFields,
    ...fields,
  },
  () => [credentialsOverTls('url')],
);

function toOTLPSink(section: z.infer<typeof schema>, name: string, resolve: ResolveSecret): OTLPSinkModel {
  return {
    kind: 'OTLP',
    ...toRemoteOptions({ ...section, events: ['concluded'] }, name),
    url: section.url,
    headers: headersOf(section.headers, resolve, `the sink ${name}`),
    traceparent: section.traceparent,
    tls: toSinkTls(section, resolve, name),
  };
}

export const otlp = { schema, toModel: toOTLPSink };
