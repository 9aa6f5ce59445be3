import type { Socket } from 'node:net';
import { errorMessage } from '@machineadm/document/errors.ts';
import { errnoOf } from '../files/file-error.ts';
import { trustedRoots } from './trusted-roots.ts';
import { loadUndici, send } from './undici.ts';

/** A request to a server of the cluster or of this machine, and who sends it. PEM throughout. */
export interface SingleRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Who may have signed the server's certificate; undefined = the roots that this system trusts. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name the server's certificate must bear, where it is not the one in the address. */
  readonly servername?: string;
  /** False only where what is answered is verified otherwise, or not believed. */
  readonly rejectUnauthorized?: boolean;
  /** The largest body, in bytes; default 4 MiB. A Node with many images is some 100 kB. */
  readonly largest?: number;
  /** Whether a body that is larger, or cut off, is given as far as it came. Otherwise the request fails. */
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
 * One request and its answer, on a connection of its own and never through a proxy, as the way to the cluster must be. No
 * redirect is followed. Rejects with the error of Node's sockets or TLS, or with the reason of the signal.
 */
export async function requestOnce(target: URL, request: SingleRequest): Promise<SingleAnswer> {
  const { method = 'GET', headers = {}, body = null, largest = LARGEST_ANSWER, partial = false, signal } = request;
  const { ca, cert, key, servername, rejectUnauthorized = true } = request;
  const verifies = target.protocol === 'https:' && rejectUnauthorized;
  const { Agent, buildConnector } = await loadUndici();
  const connector = buildConnector({
    // Said in full: what is left out, Node takes from the environment or from the roots that it carries.
    ca: ca ?? (verifies ? [...(await trustedRoots([]))] : []),
    rejectUnauthorized,
    minVersion: 'TLSv1.2',
    allowH2: false,
    timeout: 0,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
  });
  let socket: Socket | undefined;
  const agent = new Agent({
    connect: (options, callback) => {
      socket = connector(options, callback);
    },
  });
  try {
    const answer = await send(agent, target, { method, headers, body, signal, reset: true });
    const pieces: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const piece of answer.body) {
        size += piece.length;
        if (size > largest) throw new Error('the answer is too large');
        pieces.push(piece);
      }
    } catch (error) {
      if (!partial) throw error;
    }
    return { status: answer.status, headers: answer.headers, body: Buffer.concat(pieces).toString('utf8') };
  } catch (error) {
    // undici's own code of a lost connection says less than the kernel's.
    if (errnoOf(error) !== 'UND_ERR_SOCKET') throw error;
    throw Object.assign(
      new Error('the server closed the connection before its answer was complete', { cause: error }),
      {
        code: 'ECONNRESET',
      },
    );
  } finally {
    // One that is still being connected holds the process up, and undici does not know it yet.
    socket?.destroy();
    await agent.destroy();
  }
}

/** One health endpoint may take this long, in milliseconds. */
const REQUEST_TIMEOUT_MS = 5_000;
const LARGEST_BODY = 64 * 1024;

export type HealthAnswer =
  | { readonly status: number; readonly body: string }
  /** No answer: refused, cut, or too late. */
  | { readonly why: string };

/**
 * GETs a health endpoint of this machine. A certificate is not verified: most components sign their own, and nothing that
 * is answered is believed but whether something lives there. Rejects with the reason of `signal` only.
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
