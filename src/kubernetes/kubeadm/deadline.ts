import type { KubernetesModel } from '@machineadm/document/model.ts';

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

/** What pulls of images and everything without a limit of its own may cost on top. */
const SLACK_MS = 15 * MINUTE;

/**
 * How long kubeadm may take before it must be stuck: the sum of the limits of its phases, so that it can always name
 * the one that failed before it is ended from outside. In milliseconds.
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
