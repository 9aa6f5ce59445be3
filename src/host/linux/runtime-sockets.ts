import { DEFAULT_CRI_SOCKETS } from '@machineadm/document/ownership/paths.ts';
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
