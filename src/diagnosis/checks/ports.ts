import { listeners } from '../../host/linux/listeners.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

const WORKER_PORTS: readonly (readonly [number, string])[] = [[10_250, 'kubelet']];
const CONTROL_PLANE_PORTS: readonly (readonly [number, string])[] = [
  [10_250, 'kubelet'],
  [10_257, 'kube-controller-manager'],
  [10_259, 'kube-scheduler'],
  [2379, 'etcd'],
  [2380, 'etcd'],
  [2381, 'etcd'],
];

/** Checks the ports on which a node's programs listen. On a node these programs already use them. */
export async function checkPorts(
  host: QueryHost,
  isControlPlane: boolean,
  bindPort: number,
): Promise<readonly Finding[]> {
  if ((await host.stat('/etc/kubernetes/kubelet.conf')) !== undefined) {
    return [
      {
        id: 'ports',
        title: 'network',
        severity: 'passed',
        text: 'this machine is already a node and uses these ports',
      },
    ];
  }
  const taken = await listeningPorts(host);
  const wanted: readonly (readonly [number, string])[] = isControlPlane
    ? [[bindPort, 'kube-apiserver'], ...CONTROL_PLANE_PORTS]
    : WORKER_PORTS;
  const busy = wanted.filter(([port]) => taken.has(port));
  if (busy.length === 0) {
    return [
      { id: 'ports', title: 'network', severity: 'passed', text: `free: ${wanted.map(([port]) => port).join(', ')}` },
    ];
  }
  return busy.map(([port, program]) => ({
    id: `ports/${port}`,
    title: 'network',
    severity: 'failed',
    reason: 'PortInUse',
    text: `port ${port}, which ${program} needs, is in use`,
    remedy: `Find the listener with \`ss -ltnp sport = :${port}\` and stop it.`,
  }));
}

/** Local ports on which something listens. */
export async function listeningPorts(host: QueryHost): Promise<ReadonlySet<number>> {
  return new Set((await listeners(host)).map(({ port }) => port));
}
