import type { Socket } from 'node:net';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { errnoOf } from '../files/file-error.ts';
import { trustedRoots } from './trusted-roots.ts';
import { loadUndici, send } from './undici.ts';

/**
 * A request to a server of the cluster or of this machine, with the client's identity. All certificates and keys are
 * PEM.
 */
export interface SingleRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The authorities for the server's certificate; undefined = the system's roots. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must contain, where it differs from the address. */
  readonly servername?: string;
  /** False only where the response is verified by other means, or not trusted. */
  readonly rejectUnauthorized?: boolean;
  /** The largest body, in bytes; default 4 MiB. A Node with many images is some 100 kB. */
  readonly largest?: number;
  /** Whether to return the beginning of a body that is too large or truncated. Otherwise the request fails. */
  readonly partial?: boolean;
  readonly signal: AbortSignal;
}

export interface SingleAnswer {
  readonly status: number;
  /** Names in lower case; the first value of each. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const LARGEST_ANSWER = 4 * 1024 * 1024;

/**
 * One request and its response, on a connection of its own and never through a proxy, as connections to the cluster
 * must be. Redirects are not followed. Rejects with the error of Node's sockets or TLS, or with the reason of the
 * signal.
 */
export async function requestOnce(target: URL, request: SingleRequest): Promise<SingleAnswer> {
  const { largest = LARGEST_ANSWER, partial = false } = request;
  return await withAnswer(target, request, async ({ status, headers, body }) => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const piece of body) {
        size += piece.length;
        if (size > largest) throw new Error('the answer is too large');
        pieces.push(piece);
      }
    } catch (error) {
      if (!partial) throw error;
    }
    return { status, headers, body: Buffer.concat(pieces).toString('utf8') };
  });
}

/**
 * The same for an answer that is too large for memory: `use` gets its body piece by piece.
 *
 * @throws Error where the status is not 200
 */
export async function streamOnce<Result>(
  target: URL,
  request: Omit<SingleRequest, 'largest' | 'partial'>,
  use: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  return await withAnswer(target, request, async ({ status, body }) => {
    if (status !== 200) throw new Error(`${target.host} answered ${status}`);
    return await use(body);
  });
}

async function withAnswer<Result>(
  target: URL,
  request: SingleRequest,
  use: (answer: Awaited<ReturnType<typeof send>>) => Promise<Result>,
): Promise<Result> {
  const { method = 'GET', headers = {}, body = null, signal } = request;
  const { ca, cert, key, servername, rejectUnauthorized = true } = request;
  const verifies = target.protocol === 'https:' && rejectUnauthorized;
  const { Agent, buildConnector } = await loadUndici();
  const connector = buildConnector({
    // All options are set explicitly: Node takes missing ones from the environment or from its bundled roots.
    ca: ca ?? (verifies ? [...(await trustedRoots([]))] : []),
    rejectUnauthorized,
    minVersion: 'TLSv1.2',
    allowH2: false,
    timeout: 0,
    ...omitUndefined({ cert, key, servername }),
  });
  let socket: Socket | undefined;
  const agent = new Agent({
    connect: (options, callback) => {
      socket = connector(options, callback);
    },
  });
  try {
    return await use(await send(agent, target, { method, headers, body, signal, reset: true }));
  } catch (error) {
    // undici's code of a lost connection is less specific than the kernel's.
    if (errnoOf(error) !== 'UND_ERR_SOCKET') throw error;
    throw Object.assign(
      new Error('the server closed the connection before its answer was complete', { cause: error }),
      {
        code: 'ECONNRESET',
      },
    );
  } finally {
    // A connection that is still being established keeps the process alive, and undici cannot close it yet.
    socket?.destroy();
    await agent.destroy();
  }
}

/** Time limit of one health endpoint, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;
const LARGEST_BODY = 64 * 1024;

export type HealthAnswer =
  | { readonly status: number; readonly body: string }
  /** No response: refused, interrupted, or timed out. */
  | { readonly why: string };

/**
 * GETs a health endpoint of this machine. The certificate is not verified: most components use self-signed ones, and
 * the response only shows that the component is alive. Rejects only with the reason of `signal`.
 */
export async function askHealthEndpoint(url: string, signal?: AbortSignal): Promise<HealthAnswer> {
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  try {
    return await requestOnce(new URL(url), { rejectUnauthorized: false, largest: LARGEST_BODY, signal: either });
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) return { why: `${url} did not answer within ${REQUEST_TIMEOUT_MS / 1000} s` };
    return { why: `${url}: ${errorMessage(error)}` };
  }
}
