import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { steadyPort } from '../steady-port.ts';

/** How a line between a machine and a receiver can fail, whatever is spoken on it. */
export type LineFault =
  | { readonly kind: 'none' }
  /** Nobody listens. */
  | { readonly kind: 'refuses' }
  /** Accepts and never answers. */
  | { readonly kind: 'silent' }
  /** Passes half of what is sent on, then breaks off. */
  | { readonly kind: 'dropsRequest' }
  /** Passes everything on, then breaks off within the answer: the receiver has it, the sender does not know. */
  | { readonly kind: 'dropsAnswer' }
  /** Passes on what is sent after this long. */
  | { readonly kind: 'late'; readonly byMs: number };

export interface TcpFront extends AsyncDisposable {
  readonly port: number;
  become(fault: LineFault): Promise<void>;
}

/**
 * A TCP front of a receiver on loopback, with faults.
 *
 * @param at where it listens; default: any port of 127.0.0.1
 */
export async function startTcpFront(
  target: number,
  at: { readonly host?: string; readonly port?: number } = {},
): Promise<TcpFront> {
  const sockets = new Set<Socket>();
  let fault: LineFault = { kind: 'none' };
  let server: Server | undefined;
  const { host = '127.0.0.1' } = at;
  const { port = await steadyPort() } = at;

  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    serve(socket, fault, target, sockets);
  };
  const listen = async (): Promise<void> => {
    server = createServer(accept);
    server.listen(port, host);
    await once(server, 'listening');
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
    async become(next) {
      // What a sender that has gone meanwhile left in the queue of the kernel would be taken as if it came after this.
      await close();
      fault = next;
      if (next.kind !== 'refuses') await listen();
    },
    [Symbol.asyncDispose]: close,
  };
}

function serve(socket: Socket, fault: LineFault, target: number, sockets: Set<Socket>): void {
  switch (fault.kind) {
    case 'refuses':
      socket.destroy();
      return;
    case 'silent':
      socket.resume();
      return;
    case 'none':
    case 'dropsRequest':
    case 'dropsAnswer':
    case 'late':
      pass(socket, fault, target, sockets);
  }
}

function pass(socket: Socket, fault: LineFault, target: number, sockets: Set<Socket>): void {
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
