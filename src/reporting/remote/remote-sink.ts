import type { SinkTlsModel } from '@machineadm/document/model/index.ts';
import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { Moment } from '@machineadm/status/run-state.ts';
import type { Host } from '../../host/seam/host.ts';
import type { HttpClient } from '../../host/seam/http.ts';

/**
 * A sink of the deliverer: a service, or a program. It gets one event at a time, in order. Events to be retried are
 * sent again under the same id, so a receiver may get one twice.
 */
export interface RemoteSink {
  /** As in the document's `type`. */
  readonly kind: string;
  /** The destination for messages: without credentials and query. */
  readonly target: string;
  /** The largest event as JSON, in bytes; larger ones are shortened first (`truncateEvent`). See `SIZE_CLASSES`. */
  readonly capacity: number;
  /**
   * Delivers one event. An error counts as `retry`: network failures are expected. Must stop when `context.signal` is
   * aborted, which happens after the sink's `timeout`.
   */
  deliver(event: ReportEvent, context: DeliveryContext): Promise<DeliveryResult>;
  /** True where it starts a program of this machine instead of connecting to anything itself. */
  readonly isProgram?: true;
  /** Loads what a delivery needs from files, or starts it: not within a delivery's time limit, nor without rights to those files. */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Closes its connections. */
  close?(): Promise<void>;
}

export type DeliveryResult =
  | { readonly kind: 'delivered' }
  /**
   * Temporary: the receiver is unreachable, overloaded, or needs repair. `afterMs` is its requested pause
   * (Retry-After), 0 where it reported overload without one.
   */
  | { readonly kind: 'retry'; readonly why: string; readonly afterMs?: number }
  /** Permanent: this event will not be accepted. It is dropped, which is reported. */
  | { readonly kind: 'refused'; readonly why: string };

export interface DeliveryContext {
  readonly signal: AbortSignal;
  /**
   * An HTTP client with the document's proxy and authorities, and with `tls` of this sink. The deliverer creates one
   * for each `tls` and closes it: do not close it.
   */
  readonly http: (tls?: SinkTlsModel) => Promise<HttpClient>;
  /** PEM certificates that the document trusts in addition to the system's, for clients other than HTTP. */
  readonly certificateAuthorities: readonly string[];
  /** The value of a secret, when it is needed. Throws `SecretUnavailable`, which means retry. */
  readonly secret: (value: SecretValue) => Promise<Secret>;
  /** Runs a program, in a clean environment. */
  readonly run: Host['run'];
  readonly clock: () => Moment;
}

/** The default meaning of an HTTP status for a delivery. */
export function resultOfStatus(
  status: number,
  headers: ReadonlyMap<string, string>,
  nowMs: number,
  why = `HTTP ${status}`,
): DeliveryResult {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  // 400, 413, 415, 422: the event is invalid. For every other answer a retry may succeed later.
  if ([400, 413, 415, 422].includes(status)) return { kind: 'refused', why };
  return { kind: 'retry', why, ...retryAfter(status, retryAfterMs(headers.get('retry-after'), nowMs)) };
}

/** 429 and 503 (RFC 6585 4, RFC 9110 15.6.4: a temporary overload) mean a pause even without a number. */
export function retryAfter(status: number, afterMs: number | undefined): { readonly afterMs?: number } {
  if (afterMs !== undefined) return { afterMs };
  return status === 429 || status === 503 ? { afterMs: 0 } : {};
}

/** Retry-After of RFC 9110 10.2.3: seconds, or a date. Milliseconds from now; undefined = missing or invalid. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
