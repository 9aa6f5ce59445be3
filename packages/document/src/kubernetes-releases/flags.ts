import { includes, type MinorWindow } from './minor.ts';

/** Components whose flags a document sets. */
export type Component = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubelet';

interface RemovedFlags {
  readonly source: string;
  /** The first minor that does not start with them. */
  readonly removed: number;
  readonly components: readonly Component[];
  readonly flags: string;
  /** What to do instead. */
  readonly remedy: string;
}

/** A component ends with "unknown flag" for a flag that it has no more. */
export const REMOVED_FLAGS: readonly RemovedFlags[] = [
  {
    source: 'k/k#106907',
    removed: 24,
    components: ['kubelet'],
    flags:
      'cni-bin-dir cni-cache-dir cni-conf-dir docker-endpoint experimental-dockershim-root-directory image-pull-progress-deadline network-plugin network-plugin-mtu',
    remedy: 'remove it: it was for dockershim',
  },
  {
    source: 'k/k#95856, CHANGELOG-1.24.md',
    removed: 24,
    components: ['kube-apiserver'],
    flags: 'address insecure-bind-address insecure-port port',
    remedy: 'remove it: nothing is served without TLS',
  },
  {
    source: 'CHANGELOG-1.24.md',
    removed: 24,
    components: ['kube-controller-manager'],
    flags: 'address port',
    remedy: 'remove it: nothing is served without TLS',
  },
  {
    source: 'CHANGELOG-1.25.md',
    removed: 25,
    components: ['kube-apiserver'],
    flags: 'service-account-api-audiences',
    remedy: 'write api-audiences',
  },
  {
    source: 'CHANGELOG-1.25.md',
    removed: 25,
    components: ['kube-controller-manager'],
    flags: 'deleting-pods-burst deleting-pods-qps register-retry-count',
    remedy: 'remove it: it had no effect',
  },
  {
    source: 'k/k#112120, KEP-2845',
    removed: 26,
    components: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet'],
    flags:
      'add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size logtostderr one-output skip-headers skip-log-headers stderrthreshold',
    remedy: 'remove it: components log to stderr',
  },
  {
    source: 'CHANGELOG-1.26.md',
    removed: 26,
    components: ['kube-apiserver'],
    flags: 'master-service-namespace',
    remedy: 'remove it',
  },
  {
    source: 'CHANGELOG-1.27.md',
    removed: 27,
    components: ['kubelet'],
    flags: 'container-runtime master-service-namespace',
    remedy: 'remove it',
  },
  {
    source: 'CHANGELOG-1.27.md',
    removed: 27,
    components: ['kube-controller-manager'],
    flags: 'enable-taint-manager pod-eviction-timeout',
    remedy: 'remove it: pods tolerate a node that is not ready for tolerationSeconds',
  },
  {
    source: 'k/k#122082, k/k#122363',
    removed: 31,
    components: ['kubelet'],
    flags: 'iptables-drop-bit iptables-masquerade-bit keep-terminated-pod-volumes',
    remedy: 'remove it',
  },
  {
    source: 'k/k#124017, k/k#124948',
    removed: 31,
    components: ['kube-controller-manager'],
    flags:
      'horizontal-pod-autoscaler-downscale-delay horizontal-pod-autoscaler-upscale-delay volume-host-allow-local-loopback volume-host-cidr-denylist',
    remedy: 'remove it',
  },
  {
    source: 'k/k#130162',
    removed: 33,
    components: ['kube-apiserver'],
    flags: 'cloud-config',
    remedy: 'remove it: the external cloud controller manager reads it',
  },
  {
    source: 'k/k#130161',
    removed: 34,
    components: ['kubelet'],
    flags: 'cloud-config',
    remedy: 'remove it: the external cloud controller manager reads it',
  },
  {
    source: 'k/k#133779',
    removed: 35,
    components: ['kubelet'],
    flags: 'pod-infra-container-image',
    remedy: 'remove it, and write containerRuntime.containerd.sandboxImage',
  },
];

/** Since when a component has had a flag no more, and what to do instead; undefined for a flag that it may have. */
export function removedFlag(
  component: Component,
  flag: string,
  minor: number,
): { readonly removed: number; readonly remedy: string } | undefined {
  return REMOVED_FLAGS.find(
    ({ components, flags, removed }) =>
      removed <= minor && components.includes(component) && flags.split(' ').includes(flag),
  );
}

/**
 * The first minor whose kubelet refuses a `--cloud-provider` of its own: aws is gone with 1.27 (k/k#115838), all others are
 * switched off with 1.29 by the gate DisableCloudProviders, which is locked from 1.31 on (k/k#121367).
 */
export const CLOUD_PROVIDERS_REMOVED = { aws: 27, switchedOff: 29, others: 31 } as const;

interface ProxyMode extends MinorWindow {
  readonly source: string;
  /** The feature gate that it needs before `onSince`. */
  readonly gate?: string;
  readonly onSince?: number;
}

/** kube-proxy's modes on Linux; the empty one is the default. ipvs is deprecated since 1.35 (k/k#139067). */
export const PROXY_MODES = {
  '': { source: 'KEP-3866' },
  iptables: { source: 'KEP-3866' },
  ipvs: { source: 'k/k#139067' },
  userspace: { until: 25, source: 'k/k#112133' },
  nftables: { since: 29, gate: 'NFTablesProxyMode', onSince: 31, source: 'KEP-3866' },
} as const satisfies Readonly<Record<string, ProxyMode>>;

/** The names that kube-proxy of a minor knows. */
export function proxyModes(minor: number): readonly string[] {
  return Object.entries<ProxyMode>(PROXY_MODES).flatMap(([name, mode]) => (includes(mode, minor) ? [name] : []));
}
