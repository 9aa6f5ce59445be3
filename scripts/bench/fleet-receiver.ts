/** The receiver of `fleet.ts`, a process of its own: a webhook that verifies, or an API server that takes patches. */
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { newAuthority } from '../../test/support/api-server.ts';

/** Where it listens. */
export interface Listening {
  readonly url: string;
  readonly secret: string;
  readonly certificateAuthority: string;
}

/** What it heard. */
export interface Heard {
  /** Requests in each second from the first on. */
  readonly perSecond: readonly number[];
  /** Events taken, and how many different ones they were. */
  readonly taken: number;
  readonly ids: number;
}

const [kind = '', limit = '', outage = '', away = ''] = process.argv.slice(2);
const isApiServer = kind === 'api-server';
const key = randomBytes(32);
const secret = isApiServer ? randomBytes(20).toString('hex') : `whsec_${key.toString('base64')}`;
const authority = newAuthority();
const identity = authority.issue('receiver', ['127.0.0.1']);

const perSecond: number[] = [];
const taken: string[] = [];
let firstMs: number | undefined;
let tokens = Number(limit);
let filledMs = performance.now();

/** A bucket that holds what may come in a second. */
function mayPass(): boolean {
  const now = performance.now();
  tokens = Math.min(Number(limit), tokens + ((now - filledMs) / 1000) * Number(limit));
  filledMs = now;
  if (tokens < 1) return false;
  tokens -= 1;
  return true;
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const now = performance.now();
    firstMs ??= now;
    const second = Math.floor((now - firstMs) / 1000);
    for (let index = perSecond.length; index <= second; index += 1) perSecond.push(0);
    perSecond[second] = (perSecond[second] ?? 0) + 1;
    if (away !== 'gone' && now - firstMs < Number(outage) * 1000) return void response.writeHead(503).end();
    if (!mayPass()) return void response.writeHead(429, { 'retry-after': '1' }).end();
    const body = Buffer.concat(pieces).toString();
    const id = isApiServer ? patched(request, body) : verified(request, body);
    if (id === undefined) return void response.writeHead(401).end();
    taken.push(id);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
}

function verified({ headers }: IncomingMessage, body: string): string | undefined {
  const id = `${headers['webhook-id']}`;
  const signed = `${id}.${headers['webhook-timestamp']}.${body}`;
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return headers['webhook-signature'] === expected ? id : undefined;
}

function patched({ method, url = '', headers }: IncomingMessage, body: string): string | undefined {
  if (method !== 'PATCH' || headers.authorization !== `Bearer ${secret}` || body === '') return undefined;
  return /^\/api\/v1\/namespaces\/clusters\/configmaps\/([^/?]+)\?/.exec(url)?.[1];
}

const server = isApiServer
  ? createTlsServer({ cert: identity.certificate, key: identity.key }, answer)
  : createServer(answer);
async function listen(port: number): Promise<number> {
  server.listen({ port, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
const port = await listen(0);
if (away === 'gone') {
  server.close();
  await once(server, 'close');
  setTimeout(() => void listen(port), Number(outage) * 1000);
}
const listening: Listening = {
  url: `${isApiServer ? 'https' : 'http'}://127.0.0.1:${port}`,
  secret,
  certificateAuthority: authority.certificate,
};
process.on('message', () => {
  const heard: Heard = { perSecond, taken: taken.length, ids: new Set(taken).size };
  process.send?.(heard);
});
process.send?.(listening);
