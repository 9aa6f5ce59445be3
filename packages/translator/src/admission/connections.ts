import type { Server } from 'node:https';
import type { Socket } from 'node:net';

/** The most connections at a time. The API server has one per request in flight, and keeps idle ones. */
const MOST_CONNECTIONS = 1024;

/**
 * Limits the connections of a server, so that no peer can keep others out: where there are too many, the peer with the most
 * loses its oldest one without a request in flight.
 */
export function limitConnections(server: Server, most = MOST_CONNECTIONS): void {
  const open = new Set<Socket>();
  const busy = new Map<string, number>();
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= most) return;
    const counts = new Map<string, number>();
    for (const { remoteAddress = '' } of open) counts.set(remoteAddress, (counts.get(remoteAddress) ?? 0) + 1);
    const [largest] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
    const idle = [...open].find((one) => one.remoteAddress === largest && !busy.has(keyOf(one)));
    (idle ?? socket).destroy();
  });
  server.on('request', (request, response) => {
    // The TLS socket of a request is not the TCP socket of its connection; both have its address.
    const key = keyOf(request.socket);
    busy.set(key, (busy.get(key) ?? 0) + 1);
    response.once('close', () => {
      const left = (busy.get(key) ?? 1) - 1;
      if (left === 0) busy.delete(key);
      else busy.set(key, left);
    });
  });
}
