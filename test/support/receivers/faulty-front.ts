import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Identity } from '../api-server.ts';

/** What stands between a machine and a receiver. */
export type Fault =
  | { readonly kind: 'none' }
  /** Nobody listens. */
  | { readonly kind: 'refuses' }
  /** Accepts and never answers. */
  | { readonly kind: 'silent' }
  /** Answers every HTTP request with this, and passes nothing on. */
  | { readonly kind: 'answers'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Passes half of what is sent on, then breaks off. */
  | { readonly kind: 'dropsRequest' }
  /** Passes everything on, then breaks off within the answer: the receiver has it, the sender does not know. */
  | { readonly kind: 'dropsAnswer' }
  /** Passes on what is sent after this long. */
  | { readonly kind: 'late'; readonly byMs: number };

export interface FaultyFront extends AsyncDisposable {
  readonly port: number;
  /** Connections that were made to it, ever. */
  readonly connections: () => number;
  become(fault: Fault): Promise<void>;
}

/** A TCP front of a receiver on loopback, with faults; with an identity it speaks TLS to those who connect. */
export async function startFaultyFront(target: number, identity?: Identity): Promise<FaultyFront> {
  const sockets = new Set<Socket>();
  let fault: Fault = { kind: 'none' };
  let server: Server | undefined;
  let port = 0;
  let connections = 0;

  const accept = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket, fault, target, sockets);
  };
  const listen = async (): Promise<void> => {
    server =
      identity === undefined
        ? createServer(accept)
        : createTlsServer({ cert: identity.certificate, key: identity.key }, accept).on('tlsClientError', () => {});
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    const closing = server;
    server = undefined;
    if (closing === undefined) return;
    closing.close();
    await once(closing, 'close');
  };

  await listen();
  return {
    port,
    connections: () => connections,
    async become(next) {
      for (const socket of sockets) socket.destroy();
      fault = next;
      if (next.kind === 'refuses') await close();
      else if (server === undefined) await listen();
    },
    [Symbol.asyncDispose]: close,
  };
}

function serve(socket: Socket, fault: Fault, target: number, sockets: Set<Socket>): void {
  switch (fault.kind) {
    case 'refuses':
      socket.destroy();
      return;
    case 'silent':
      socket.resume();
      return;
    case 'answers': {
      const lines = Object.entries({ 'content-length': '0', connection: 'close', ...fault.headers });
      const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      socket.once('data', () => socket.end(`HTTP/1.1 ${fault.status} Fault\r\n${head}\r\n`));
      socket.resume();
      return;
    }
    case 'none':
    case 'dropsRequest':
    case 'dropsAnswer':
    case 'late':
      pass(socket, fault, target, sockets);
  }
}

function pass(socket: Socket, fault: Fault, target: number, sockets: Set<Socket>): void {
  const onward = connect(target, '127.0.0.1');
  sockets.add(onward);
  onward.on('error', () => socket.destroy());
  onward.on('close', () => {
    sockets.delete(onward);
    socket.destroy();
  });
  socket.on('close', () => onward.destroy());
  const half = (piece: Buffer): Buffer => piece.subarray(0, Math.floor(piece.length / 2));
  const breakOff = (): void => {
    onward.destroy();
    socket.destroy();
  };
  socket.on('data', (piece: Buffer) => {
    if (fault.kind === 'late') setTimeout(() => onward.writable && onward.write(piece), fault.byMs).unref();
    else if (fault.kind === 'dropsRequest') onward.write(half(piece), breakOff);
    else onward.write(piece);
  });
  onward.on('data', (piece: Buffer) => {
    if (fault.kind === 'dropsAnswer') socket.write(half(piece), breakOff);
    else socket.write(piece);
  });
}
