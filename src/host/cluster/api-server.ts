import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { requestOnce, type SingleAnswer } from '../http/request-once.ts';

/** How to reach an API server, and the client's credentials. */
export interface ApiCredential {
  /** `https://10.0.0.1:6443` */
  readonly server: URL;
  /** The name to expect in the server's certificate, where it differs from the host of `server`. */
  readonly serverName: string | undefined;
  /** PEM of the authorities that must have signed the server's certificate; the system's are not used. */
  readonly certificateAuthority: string;
  /** PEM of the client certificate and its private key; undefined with a token. */
  readonly certificate?: string | undefined;
  readonly key?: Secret | undefined;
  /** A bearer token. */
  readonly token?: Secret | undefined;
}

/** The result of requesting one object from an API server. */
export type Answer<Found> =
  | { readonly kind: 'found'; readonly object: Found }
  | { readonly kind: 'absent' }
  /** A response without the object: 401, 403, 5xx. */
  | { readonly kind: 'refused'; readonly status: number; readonly why: string; readonly retryAfterMs?: number }
  /** No connection, a timeout, or an incomplete response. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly code?: string }
  /**
   * The server's certificate is not signed by this credential's authority (with the `code` of Node's TLS), or the server
   * refuses the credential itself.
   */
  | { readonly kind: 'untrusted'; readonly why: string; readonly code?: string };

export interface ApiRequest {
  /** With its query. */
  readonly path: string;
  /** Default: a GET. At most one of these. */
  readonly patch?: { readonly contentType: string; readonly body: string };
  /** An object to create, as JSON. */
  readonly post?: object;
  /** The options of a deletion, as JSON. */
  readonly remove?: object;
  /** Default 10 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Time limit of one request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

export async function getObject(
  credential: ApiCredential,
  path: string,
  signal?: AbortSignal,
  timeoutMs: number = REQUEST_TIMEOUT_MS,
): Promise<Answer<unknown>> {
  return await askApiServer(credential, { path, timeoutMs, signal });
}

/**
 * Reads, creates, patches or deletes one object on an API server. The server's certificate is always verified against the credential's
 * authority. Throws only for `signal`.
 */
export async function askApiServer(credential: ApiCredential, request: ApiRequest): Promise<Answer<unknown>> {
  const { path, signal, timeoutMs = REQUEST_TIMEOUT_MS } = request;
  const sent = bodyOf(request);
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(timeoutMs);
  const { server, serverName, certificateAuthority, certificate, key, token } = credential;
  try {
    // A server behind a proxy of clusters has a path of its own: https://rancher.example.com/k8s/clusters/c-1
    const answer = await requestOnce(new URL(`${server.pathname.replace(/\/$/, '')}${path}`, server), {
      ...(sent === undefined ? {} : { method: sent.method, body: sent.body }),
      headers: {
        accept: 'application/json',
        'user-agent': 'machineadm',
        ...(sent === undefined ? {} : { 'content-type': sent.contentType }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      },
      ca: certificateAuthority,
      ...(certificate === undefined ? {} : { cert: certificate }),
      ...(key === undefined ? {} : { key: key.reveal() }),
      ...(serverName === undefined ? {} : { servername: serverName }),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return interpret(answer);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) {
      const why = `${server.host} did not answer within ${timeoutMs / 1000} s`;
      return { kind: 'unreachable', why, code: 'ETIMEDOUT' };
    }
    const why = `${server.host}: ${describe(error)}`;
    return { kind: isTrustFailure(error) ? 'untrusted' : 'unreachable', why, ...codeOf(error) };
  }
}

function bodyOf({ patch, post, remove }: ApiRequest) {
  const contentType = 'application/json';
  if (patch !== undefined) return { method: 'PATCH', ...patch } as const;
  if (post !== undefined) return { method: 'POST', contentType, body: JSON.stringify(post) } as const;
  return remove === undefined ? undefined : ({ method: 'DELETE', contentType, body: JSON.stringify(remove) } as const);
}

function interpret({ status, headers, body }: SingleAnswer): Answer<unknown> {
  let object: unknown;
  try {
    object = JSON.parse(body);
  } catch {
    if (isSuccess(status)) return { kind: 'refused', status, why: 'the answer is not JSON' };
  }
  if (isSuccess(status)) return { kind: 'found', object };
  const message = text(member(object, 'message'));
  // A 404 of the API is a Status object with this reason; any other 404 is from a proxy or a wrong server.
  if (status === 404 && text(member(object, 'reason')) === 'NotFound') return { kind: 'absent' };
  const why = `the API server answered ${status}${message === undefined ? '' : `: ${message}`}`;
  if (status === 401) return { kind: 'untrusted', why };
  return { kind: 'refused', status, why, ...retryAfter(headers.get('retry-after')) };
}

/** 201 for what was created, 202 for what will be deleted. */
function isSuccess(status: number): boolean {
  return status === 200 || status === 201 || status === 202;
}

/**
 * In seconds, as API servers send it (k/k apiserver pkg/server/filters/maxinflight.go). A date would require
 * synchronised clocks.
 */
function retryAfter(header: string | undefined): { readonly retryAfterMs?: number } {
  return header !== undefined && /^\d{1,6}$/.test(header) ? { retryAfterMs: Number(header) * 1000 } : {};
}

/** Codes of Node's TLS layer for an unexpected server identity, and alerts about our own certificate. */
const TRUST_FAILURES =
  /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_SSL_.*(ALERT|KEY|CERT)|ERR_OSSL_)/;

function isTrustFailure(error: unknown): boolean {
  return TRUST_FAILURES.test(text(member(error, 'code')) ?? '');
}

/** Happy-eyeballs failures are an AggregateError with an empty message. */
function innermost(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}

function codeOf(error: unknown): { readonly code?: string } {
  const code = text(member(innermost(error), 'code')) ?? text(member(error, 'code'));
  return code === undefined ? {} : { code };
}

function describe(error: unknown): string {
  const inner = innermost(error);
  return inner instanceof Error && inner.message !== ''
    ? inner.message
    : (text(member(error, 'code')) ?? String(inner));
}
