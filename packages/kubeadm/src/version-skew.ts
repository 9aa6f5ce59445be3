import { type KubeletSkew, kubeletRefusal } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import type { KubernetesModel } from '@machineadm/document/model.ts';
import { parseVersion, type Version } from '@machineadm/document/program-version.ts';

/**
 * Why kubeadm would refuse this kubelet for the document. A machine that joins may find another version of the control
 * plane than its own: only the first one of a cluster is compared with it.
 */
export function kubeletSkew(kubernetes: KubernetesModel, kubelet: Version, kubeadm: Version): KubeletSkew | undefined {
  if (isIgnored(kubernetes, 'KubeletVersion')) return undefined;
  const isFirst = kubernetes.role === 'InitControlPlane';
  return kubeletRefusal(kubelet, kubeadm, isFirst ? parseVersion(kubernetes.version) : undefined);
}

/**
 * Whether the document lets a kubelet run with cgroup v1 that would not do so by itself: kubeadm's check is switched off,
 * and the kubelet's configuration says so. A machine that joins gets that from its cluster.
 */
export function allowsCgroupV1(kubernetes: KubernetesModel): boolean {
  const { role, node, kubeadm } = kubernetes;
  const isPatched = kubeadm.patches.some(({ target }) => target === 'kubeletconfiguration');
  const isConfigured = role !== 'InitControlPlane' || isPatched || node.kubelet.config.failCgroupV1 === false;
  return isConfigured && isIgnored(kubernetes, 'SystemVerification');
}

/** kubeadm compares the names of its checks in lower case (k/k cmd/kubeadm/app/preflight/checks.go, setHasItemOrAll). */
function isIgnored({ kubeadm }: KubernetesModel, check: string): boolean {
  return kubeadm.ignorePreflightErrors.some((name) => ['all', check.toLowerCase()].includes(name.toLowerCase()));
}
