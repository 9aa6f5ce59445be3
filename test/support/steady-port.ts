import { once } from 'node:events';
import { createServer } from 'node:net';

/** A server that is closed for the moment still needs its port. */
const given = new Set<number>();

/**
 * A free port on loopback for a server that is closed for a while and opened again. It lies below those that the kernel gives
 * away (net.ipv4.ip_local_port_range, from 32768), so that no connection takes it meanwhile.
 */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    if (given.has(port)) continue;
    given.add(port);
    return port;
  }
}
