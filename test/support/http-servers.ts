import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, request as send } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Identity } from './api-server.ts';

export interface TestServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, or https with an identity. */
  readonly url: string;
  readonly port: number;
  /** `METHOD url` of every request, as it came. */
  readonly requests: readonly string[];
}

/** A server of loopback that answers with `answer`; with an identity it speaks TLS. */
export async function startServer(
  answer: (
    request: IncomingMessage,
    body: string,
  ) => { status?: number; headers?: Record<string, string>; body?: string | Buffer } | 'silence',
  identity?: Identity,
): Promise<TestServer> {
  const requests: string[] = [];
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const given = answer(request, Buffer.concat(pieces).toString());
      if (given === 'silence') return;
      response.writeHead(given.status ?? 200, given.headers).end(given.body ?? '');
    });
  };
  const server =
    identity === undefined
      ? createServer(listener)
      : createTlsServer({ cert: identity.certificate, key: identity.key }, listener);
  return await listening(server, identity === undefined ? 'http' : 'https', requests);
}

/**
 * A forward proxy: what is asked for through it is got from the loopback port that `target` names, whatever the host.
 * Its requests are `GET http://host/path` and `CONNECT host:443`, with the credentials it was given behind them.
 */
export async function startProxy(target: () => number): Promise<TestServer> {
  const requests: string[] = [];
  const seen = (request: IncomingMessage): void => {
    const credentials = request.headers['proxy-authorization'];
    const shown = credentials === undefined ? '' : ` ${Buffer.from(credentials.slice(6), 'base64').toString()}`;
    requests.push(`${request.method ?? ''} ${request.url ?? ''}${shown}`);
  };
  const server = createServer((request, response) => {
    seen(request);
    const { pathname } = new URL(request.url ?? '');
    const onward = send({ host: '127.0.0.1', port: target(), path: pathname, method: request.method }, (answer) => {
      response.writeHead(answer.statusCode ?? 502);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('connect', (request, socket: Socket) => {
    seen(request);
    const onward = connect(target(), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket);
      socket.pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
  });
  return await listening(server, 'http', requests);
}

async function listening(server: Server, scheme: 'http' | 'https', requests: string[]): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
