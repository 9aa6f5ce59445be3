import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Identity } from './api-server.ts';
import { steadyPort } from './steady-port.ts';

/** How a server can fail whoever talks to it. */
export const FAULTS = [
  'refuses',
  'never answers',
  'answers 500',
  'answers 429',
  'drops at half the body',
  'is 10 s late',
] as const;
export type Fault = (typeof FAULTS)[number];

/** A reverse proxy on one address, in front of a receiver; it fails as told until it is told not to. */
export interface FaultyFront extends AsyncDisposable {
  readonly port: number;
  /** How many requests it got. */
  readonly requests: number;
  /** undefined = it works. */
  fail(fault: Fault | undefined): Promise<void>;
}

/**
 * @param target port of the receiver on loopback
 * @param own port to listen on; default: any
 */
export async function startFaultyFront(target: number, identity?: Identity, own = 0): Promise<FaultyFront> {
  let fault: Fault | undefined;
  let requests = 0;
  const sockets = new Set<Socket>();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    requests += 1;
    switch (fault) {
      case 'answers 500':
        request.resume();
        response.writeHead(500).end('out of order');
        return;
      case 'answers 429':
        request.resume();
        response.writeHead(429, { 'retry-after': '1' }).end();
        return;
      case 'drops at half the body':
        request.resume();
        response.writeHead(200, { 'content-length': '100' }).write('x'.repeat(50));
        setTimeout(() => request.socket.destroy(), 50);
        return;
      case 'is 10 s late':
        // To a sender that has gone meanwhile nothing can be answered, and a proxy drops what it sent.
        setTimeout(() => {
          if (!response.destroyed) forward(request, response, target);
        }, 10_000).unref();
        return;
      case 'refuses':
      case 'never answers':
        return;
      case undefined:
        forward(request, response, target);
    }
  };
  const create = (): Server => {
    const server =
      identity === undefined
        ? createServer(handle)
        : createTlsServer({ cert: identity.certificate, key: identity.key }, handle);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    return server;
  };
  let server = create();
  const open = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  await open(own === 0 ? await steadyPort() : own);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get requests() {
      return requests;
    },
    async fail(next) {
      // What a sender that has gone meanwhile left in the queue of the kernel would be taken as if it came after this.
      await close();
      fault = next;
      if (next === 'refuses') return;
      server = create();
      await open(port);
    },
    [Symbol.asyncDispose]: close,
  };
}

function forward(request: IncomingMessage, response: ServerResponse, port: number): void {
  const { method, url, headers } = request;
  const onward = send({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}
