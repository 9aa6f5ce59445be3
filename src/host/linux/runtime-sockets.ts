import { DEFAULT_CRI_SOCKETS } from '@machineadm/document/ownership/paths.ts';
import type { Facts } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';

/** The runtimes that kubeadm looks for, in its order (k/k cmd/kubeadm/app/constants/constants_unix.go), with their programs. */
const RUNTIMES: readonly (readonly [socket: string, program: string])[] = [
  [DEFAULT_CRI_SOCKETS.linux, 'containerd'],
  ['unix:///run/crio/crio.sock', 'crio'],
  ['unix:///run/cri-dockerd.sock', 'cri-dockerd'],
];

/**
 * The sockets of the container runtimes of this machine, as URLs. While no runtime runs, those of the installed ones:
 * a later part of a run may start them.
 */
export async function runtimeSockets(host: Pick<QueryHost, 'stat' | 'which'>): Promise<readonly string[]> {
  const running: string[] = [];
  const installed: string[] = [];
  for (const [socket, program] of RUNTIMES) {
    if ((await host.stat(socket.replace('unix://', ''))) !== undefined) running.push(socket);
    else if ((await host.which(program)) !== undefined) installed.push(socket);
  }
  return running.length > 0 ? running : installed;
}

/** The socket of a machine whose document is not known: that of its runtime, containerd's if it has none. */
export async function socketOfMachine(host: QueryHost, platform: Facts['platform']): Promise<string> {
  const [found] = platform === 'linux' ? await runtimeSockets(host) : [];
  return found ?? DEFAULT_CRI_SOCKETS[platform];
}

/** The service of the runtime at a socket. */
export function runtimeService(socket: string): 'containerd' | 'crio' | 'cri-docker' {
  if (/\bcrio\b/.test(socket)) return 'crio';
  return /\bcri-dockerd\b/.test(socket) ? 'cri-docker' : 'containerd';
}
