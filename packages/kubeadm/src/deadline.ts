import type { KubernetesModel } from '@machineadm/document/model/index.ts';

/** kubeadm's own defaults (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go), in milliseconds. */
const MINUTE = 60_000;
const DEFAULTS = {
  controlPlaneMs: 4 * MINUTE,
  kubeletMs: 4 * MINUTE,
  apiMs: MINUTE,
  etcdMs: 2 * MINUTE,
  tlsBootstrapMs: 5 * MINUTE,
  discoveryMs: 5 * MINUTE,
} as const;

/** Additional time for image pulls and everything without a limit of its own. */
const SLACK_MS = 15 * MINUTE;

/**
 * The time after which kubeadm must be stuck, in milliseconds: the sum of the limits of its phases, so that kubeadm can
 * always report the failed one before it is ended.
 */
export function kubeadmDeadlineMs(kubernetes: Pick<KubernetesModel, 'role' | 'timeouts'>): number {
  const given = kubernetes.timeouts;
  const limit = (name: keyof typeof DEFAULTS): number => given[name] ?? DEFAULTS[name];
  const afterTheNodeRuns = limit('kubeletMs') + 2 * limit('apiMs') + SLACK_MS;
  if (kubernetes.role === 'InitControlPlane') return limit('controlPlaneMs') + afterTheNodeRuns;
  // cluster-info is read twice where a CA hash is pinned (k/k cmd/kubeadm/app/discovery/token).
  const join = 2 * limit('discoveryMs') + limit('tlsBootstrapMs') + afterTheNodeRuns;
  // Announce the member, promote it, and wait for the cluster (k/k cmd/kubeadm/app/util/etcd).
  return kubernetes.role === 'Worker' ? join : join + 3 * limit('etcdMs') + limit('controlPlaneMs');
}
