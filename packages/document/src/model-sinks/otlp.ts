import type { SecretValue } from '../secret.ts';
import type { RemoteOptions, SinkTlsModel } from './remote.ts';

/** A collector of OpenTelemetry, told of the run as a trace. */
export interface OTLPSinkModel extends RemoteOptions {
  readonly kind: 'OTLP';
  /** The whole of it, `…/v1/traces`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, SecretValue>>;
  /** The span that the run belongs to: W3C Trace Context, `00-TRACE-SPAN-FLAGS`. */
  readonly traceparent: string | undefined;
  readonly tls: SinkTlsModel;
}
