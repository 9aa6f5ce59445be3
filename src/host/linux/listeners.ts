import type { QueryHost } from '../seam/host.ts';

/** State LISTEN in /proc/net/tcp (kernel include/net/tcp_states.h). */
const LISTEN = '0A';

/** A TCP socket of this machine that accepts connections. */
export interface Listener {
  /** Hexadecimal, as the kernel prints it. */
  readonly address: string;
  readonly port: number;
  /** Connections that its program has not accepted yet. While they are as many as it allows, the kernel drops new ones. */
  readonly waiting: number;
}

/** TCP sockets in state LISTEN, from the kernel's tables (kernel Documentation/networking/proc_net_tcp.rst). */
export async function listeners(host: Pick<QueryHost, 'readText'>): Promise<readonly Listener[]> {
  const found: Listener[] = [];
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of ((await host.readText(path)) ?? '').split('\n').slice(1)) {
      const [, local = '', , state, queues = ''] = line.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      if (state === LISTEN)
        found.push({
          address,
          port: Number.parseInt(port, 16),
          waiting: Number.parseInt(queues.split(':')[1] ?? '0', 16),
        });
    }
  }
  return found;
}

/** 127.0.0.1 in the byte order of x86 and arm64, and every address. */
const REACHED_BY_LOOPBACK = /^(?:0100007F|0+|0{16}FFFF00000100007F)$/;

/** Whether a socket of its own at 127.0.0.1 and this port would collide with the listener. */
export function isOnLoopback({ address }: Listener): boolean {
  return REACHED_BY_LOOPBACK.test(address);
}
