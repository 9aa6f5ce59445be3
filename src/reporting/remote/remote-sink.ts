import type { SinkTlsModel } from '@machineadm/document/model.ts';
import type { Secret, SecretValue } from '@machineadm/document/secret.ts';
import type { HttpClient } from '../../host/http/client.ts';
import type { Host } from '../../host/seam/host.ts';
import type { ReportEvent } from '../event.ts';
import type { Moment } from '../run-state.ts';

/**
 * A sink that the deliverer talks to: a service, or a program. It is given one event at a time, in order, until it has
 * taken it; the deliverer repeats what it asked to be repeated, under the same id, so a receiver may get one twice.
 */
export interface RemoteSink {
  /** As the document's `type` has it. */
  readonly kind: string;
  /** Where it goes, for people: no credentials, no query. */
  readonly target: string;
  /** Bytes that an event, as JSON, may have; what is larger is `fitted` before. See `SIZE_CLASSES`. */
  readonly capacity: number;
  /**
   * Delivers one event. What it throws counts as `retry`: a network that fails is no news. Must stop when
   * `context.signal` is aborted, which happens after the sink's `timeout`.
   */
  deliver(event: ReportEvent, context: DeliveryContext): Promise<DeliveryResult>;
  /** Ends what it keeps open. */
  close?(): Promise<void>;
}

export type DeliveryResult =
  | { readonly kind: 'delivered' }
  /**
   * Not now: the receiver is not there, overloaded, or needs repair. `afterMs` is what it asked for (Retry-After), 0 where it
   * only said that it has too much to do.
   */
  | { readonly kind: 'retry'; readonly why: string; readonly afterMs?: number }
  /** Never: these bytes will not be accepted. The event is given up, and that is told. */
  | { readonly kind: 'refused'; readonly why: string };

/** What a delivery may use. */
export interface DeliveryContext {
  readonly signal: AbortSignal;
  /**
   * An HTTP client with the proxy and the authorities of the document, and with `tls` of this sink. One is made for each
   * `tls` and closed by the deliverer: do not close it.
   */
  readonly http: (tls?: SinkTlsModel) => Promise<HttpClient>;
  /** PEM certificates that the document trusts beside the system's, for what does not speak HTTP. */
  readonly certificateAuthorities: readonly string[];
  /** The value of a secret, at the moment of use. Throws `SecretUnavailable`, which is a retry: it may come. */
  readonly secret: (value: SecretValue) => Promise<Secret>;
  /** Runs a program, in a clean environment. */
  readonly run: Host['run'];
  readonly clock: () => Moment;
}

/** What an HTTP status means for a delivery, where the service has no rules of its own. */
export function resultOfStatus(
  status: number,
  headers: ReadonlyMap<string, string>,
  nowMs: number,
  why = `HTTP ${status}`,
): DeliveryResult {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  // 400, 413, 415, 422: it is the event that is wrong. Every other answer may change when somebody repairs something.
  if ([400, 413, 415, 422].includes(status)) return { kind: 'refused', why };
  return { kind: 'retry', why, ...retryAfter(status, retryAfterMs(headers.get('retry-after'), nowMs)) };
}

/** 429 and 503 (RFC 6585 4, RFC 9110 15.6.4: a temporary overload) ask for patience without a number, too. */
export function retryAfter(status: number, afterMs: number | undefined): { readonly afterMs?: number } {
  if (afterMs !== undefined) return { afterMs };
  return status === 429 || status === 503 ? { afterMs: 0 } : {};
}

/** Retry-After of RFC 9110 10.2.3: seconds, or a date. Milliseconds from now; undefined = not given or no such thing. */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
