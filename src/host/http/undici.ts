import type { Dispatcher } from 'undici';
import { abortable } from '../time/timeout.ts';

/**
 * The parts of undici that we use, loaded at the first request. Its index.js also loads fetch, WebSocket, caches and
 * mocks: 69 ms of CPU instead of 52 ms, and 250 KB more in the program that every start reads (measured, Node 24).
 */
export async function loadUndici() {
  const [agent, proxyAgent, connect, dispatcher, api] = await Promise.all([
    import('undici/lib/dispatcher/agent.js'),
    import('undici/lib/dispatcher/proxy-agent.js'),
    import('undici/lib/core/connect.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/index.js'),
  ]);
  // The same as in undici's index.js.
  Object.assign(dispatcher.default.prototype, api.default);
  return { Agent: agent.default, ProxyAgent: proxyAgent.default, buildConnector: connect.default };
}

interface Sent {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  readonly signal: AbortSignal | undefined;
  /** Time limit until the response begins, and then for each gap in its body. */
  readonly silenceMs?: number;
  /** Whether to close the connection after the response. */
  readonly reset?: boolean;
}

/**
 * Sends one request and resolves when its response begins. Rejects with errors of undici or of Node's sockets, or with
 * the reason of the signal.
 */
export async function send(dispatcher: Dispatcher, url: URL, { signal, silenceMs, ...request }: Sent) {
  const sent = dispatcher.request({
    ...request,
    ...(signal === undefined ? {} : { signal }),
    ...(silenceMs === undefined ? {} : { headersTimeout: silenceMs, bodyTimeout: silenceMs }),
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
  });
  // undici reacts to a signal only after it has a connection or has failed to establish one.
  const answer = await (signal === undefined ? sent : abortable(sent, signal));
  // Names in lower case; the first value of each.
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(answer.headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers.set(name.toLowerCase(), first);
  }
  return { status: answer.statusCode, headers, body: answer.body };
}
