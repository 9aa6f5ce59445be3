import type { ProxyModel } from '@machineadm/document/model/index.ts';
import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Dispatcher } from 'undici';
import type { HttpAnswer, HttpClient, HttpRequest } from '../seam/http.ts';
import { HttpError, httpError } from './error.ts';
import { reachedDirectly } from './proxy-bypass.ts';
import { trustedRoots } from './trusted-roots.ts';
import { loadUndici, send } from './undici.ts';

/** Proxies by the protocol of the request: full URLs, with credentials where needed. */
export interface HttpProxy {
  readonly http: string | undefined;
  readonly https: string | undefined;
  /** See `reachedDirectly`. */
  readonly no: readonly string[];
}

export interface HttpClientOptions {
  /** undefined: all requests are direct. */
  readonly proxy: HttpProxy | undefined;
  /** PEM certificates trusted in addition to the system's. */
  readonly certificateAuthorities: readonly string[];
  /** PEM; the client certificate for servers that request one. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: Secret };
  /** Time limit for establishing a connection; default 10 s. */
  readonly connectTimeoutMs?: number;
}

const SILENCE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const REDIRECTS = 5;

/** The document's proxy for the agent's own requests; undefined when it has none. */
export async function agentProxy(
  model: ProxyModel | undefined,
  resolve: (value: SecretValue) => Promise<Secret>,
): Promise<HttpProxy | undefined> {
  if (model === undefined || !model.for.includes('agent')) return undefined;
  const http = model.http === undefined ? undefined : (await resolve(model.http)).reveal();
  const https = model.https === undefined ? undefined : (await resolve(model.https)).reveal();
  return { http, https, no: model.no };
}

/**
 * The HTTP client of the project. Proxies and trust come only from its options; environment variables (HTTP_PROXY,
 * NODE_EXTRA_CA_CERTS) have no effect. Redirects of a GET are followed up to five times, never from https to http.
 * Headers of the caller may be credentials, so they are not sent to a different server.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const dispatchers = new Map<string, Promise<Dispatcher>>();

  const dispatcherFor = (url: URL, proxy: string | undefined): Promise<Dispatcher> => {
    const key = `${url.protocol} ${proxy ?? 'direct'}`;
    const known = dispatchers.get(key);
    if (known !== undefined) return known;
    const made = connect(url, proxy, options);
    dispatchers.set(key, made);
    return made;
  };

  const once = async (url: URL, request: HttpRequest): Promise<HttpAnswer> => {
    const proxy = proxyFor(url, options.proxy);
    const what = redactedRequest(request.method ?? 'GET', url);
    const shownProxy = proxy === undefined ? undefined : hostOf(proxy, what);
    const signals = [
      ...(request.signal === undefined ? [] : [request.signal]),
      ...(request.totalMs === undefined ? [] : [AbortSignal.timeout(request.totalMs)]),
    ];
    try {
      const { status, headers, body } = await send(await dispatcherFor(url, proxy), url, {
        method: request.method ?? 'GET',
        headers: { 'user-agent': 'machineadm', 'accept-encoding': 'identity', ...request.headers },
        body: request.body ?? null,
        silenceMs: request.silenceMs ?? SILENCE_MS,
        signal: signals.length === 0 ? undefined : AbortSignal.any(signals),
      });
      return {
        status,
        headers,
        body: chunks(body, what, shownProxy),
        discard: () => body.dump().catch(() => undefined),
      };
    } catch (error) {
      throw httpError(what, error, shownProxy);
    }
  };

  return {
    async request(request) {
      let url = new URL(request.url);
      let headers = request.headers ?? {};
      for (let redirects = 0; ; redirects += 1) {
        const answer = await once(url, { ...request, headers });
        const location = answer.headers.get('location');
        const follows = (request.method ?? 'GET') === 'GET' && [301, 302, 303, 307, 308].includes(answer.status);
        if (!follows || location === undefined) return answer;
        await answer.discard();
        const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
        const what = redactedRequest('GET', url);
        if (next === undefined || !/^https?:$/.test(next.protocol)) {
          throw new HttpError('protocol', what, 'it redirects to something other than an http or https URL');
        }
        if (redirects === REDIRECTS) throw new HttpError('protocol', what, `more than ${REDIRECTS} redirects`);
        if (url.protocol === 'https:' && next.protocol === 'http:') {
          throw new HttpError('redirect', what, `it redirects from https to http (${next.host})`);
        }
        if (next.origin !== url.origin) headers = {};
        url = next;
      }
    },

    async close() {
      const made = [...dispatchers.values()];
      dispatchers.clear();
      await Promise.all(made.map(async (dispatcher) => (await dispatcher).destroy()));
    },
  };
}

/** The whole body, limited to `limit` bytes. Throws `HttpError`. */
export async function readBody(answer: HttpAnswer, limit: number, what: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of answer.body) {
    length += piece.length;
    if (length > limit) throw new HttpError('protocol', what, `the answer is larger than ${limit} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** The body of a service's response. The `HttpError` it throws quotes nothing of the body, which may be a secret. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError('protocol', what, 'it is not JSON');
  }
}

/** A request for messages: without query, fragment and credentials. */
export function redactedRequest(method: string, url: URL | string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${method} ${protocol}//${host}${pathname}`;
}

async function* chunks(
  body: AsyncIterable<unknown>,
  what: string,
  proxy: string | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) if (chunk instanceof Uint8Array) yield chunk;
  } catch (error) {
    throw httpError(what, error, proxy);
  }
}

async function connect(url: URL, proxy: string | undefined, options: HttpClientOptions): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await loadUndici();
  const timeout = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  // Parsing the system's bundle of 200 KiB takes time, so only TLS connections do it.
  const tls = [url.protocol, proxy === undefined ? '' : new URL(proxy).protocol].includes('https:');
  // All options are set explicitly: Node takes missing ones from the environment (NODE_TLS_REJECT_UNAUTHORIZED) or from
  // flags.
  const trust = tls
    ? {
        ca: [...(await trustedRoots(options.certificateAuthorities))],
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2' as const,
      }
    : {};
  const client = options.clientCertificate;
  const shown = client === undefined ? {} : { cert: client.certificate, key: client.key.reveal() };
  if (proxy === undefined) return new Agent({ allowH2: false, connect: { ...trust, ...shown, timeout } });
  const requestTls = { ...trust, ...shown };
  return new ProxyAgent({ uri: proxy, allowH2: false, requestTls, proxyTls: trust, connectTimeout: timeout });
}

function proxyFor(url: URL, proxy: HttpProxy | undefined): string | undefined {
  if (proxy === undefined || reachedDirectly(url, proxy.no)) return undefined;
  return url.protocol === 'https:' ? proxy.https : proxy.http;
}

/** The host and port of a proxy, without its credentials. */
function hostOf(proxy: string, what: string): string {
  const url = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url.host;
  throw new HttpError('proxy', what, 'the proxy of the document is not an http or https URL');
}
