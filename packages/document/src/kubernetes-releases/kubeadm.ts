import { includes, type MinorWindow } from './minor.ts';

export interface KubeadmGate extends MinorWindow {
  /** The fixed value of the gate after its removal; absent: none is known. */
  readonly afterwards?: boolean;
}

/**
 * kubeadm's own feature gates. Source: k/k cmd/kubeadm/app/features/features.go and the tables "feature gates", "deprecated
 * feature gates" and "removed feature gates" of https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-init/
 * (for 1.36); RootlessControlPlane: k/k#102158, and in the sources of 1.31.14 to 1.36.3, as a kubeadm 1.36.3 says, too.
 * NodeLocalCRISocket became GA in 1.36 and is gone with 1.37.
 */
export const KUBEADM_GATES = {
  ControlPlaneKubeletLocalMode: { since: 31, until: 35, afterwards: true },
  EtcdLearnerMode: { since: 27, until: 32, afterwards: true },
  IPv6DualStack: { until: 23, afterwards: true },
  NodeLocalCRISocket: { since: 32, until: 36, afterwards: true },
  PublicKeysECDSA: {},
  RootlessControlPlane: { since: 22 },
  UnversionedKubeletConfigMap: { since: 22, until: 25, afterwards: true },
  UpgradeAddonsBeforeControlPlane: { since: 28, until: 30, afterwards: false },
  WaitForAllControlPlaneComponents: { since: 30, until: 34, afterwards: true },
} as const satisfies Readonly<Record<string, KubeadmGate>>;

/** The gate of this name that kubeadm has or had. */
export function kubeadmGate(name: string): KubeadmGate | undefined {
  const gates: Readonly<Record<string, KubeadmGate>> = KUBEADM_GATES;
  return Object.hasOwn(gates, name) ? gates[name] : undefined;
}

/** The gates that kubeadm of a minor has. */
export function kubeadmGates(minor: number): readonly string[] {
  return Object.entries<KubeadmGate>(KUBEADM_GATES).flatMap(([name, gate]) => (includes(gate, minor) ? [name] : []));
}

/** The newest minor whose gates are known. */
export const NEWEST_KUBEADM_GATES_MINOR = 36;

/** A minor that kubeadm has something from, and the machines on which it has an effect. */
interface PatchTargetFacts {
  readonly since: number;
  readonly on: 'every machine' | 'control planes' | 'the first control plane';
}

/**
 * Patch targets, and since when: knownTargets in k/k cmd/kubeadm/app/util/patches/patches.go of 1.31.14, 1.32.13, 1.33.13,
 * 1.34.9, 1.35.6 and 1.36.3; before, k/k#110405 and k/k#124820. k/k#138090 (kubeproxydaemonset) came after 1.36. kubeadm
 * prints a line about a file for another target, and goes on without it.
 */
export const PATCH_TARGETS = {
  etcd: { since: 20, on: 'control planes' },
  'kube-apiserver': { since: 20, on: 'control planes' },
  'kube-controller-manager': { since: 20, on: 'control planes' },
  'kube-scheduler': { since: 20, on: 'control planes' },
  kubeletconfiguration: { since: 25, on: 'every machine' },
  corednsdeployment: { since: 31, on: 'the first control plane' },
  kubeproxydaemonset: { since: 37, on: 'the first control plane' },
} as const satisfies Readonly<Record<string, PatchTargetFacts>>;

export type PatchTarget = keyof typeof PATCH_TARGETS;

/** Whether kubeadm takes a file of this name for a patch of the kubelet's configuration (the same source). */
export function isKubeletPatch(name: string): boolean {
  return /^kubeletconfiguration[^.+\n]*(?:\+(?:strategic|merge|json))?\.(?:json|yaml)$/.test(name);
}

/** Whether kubeadm reads patches of the target on a machine of this role: a worker has no static pods, a join no addons. */
export function acceptsPatches(target: PatchTarget, role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker'): boolean {
  const { on } = PATCH_TARGETS[target];
  return on === 'every machine' || role === 'InitControlPlane' || (on === 'control planes' && role !== 'Worker');
}
