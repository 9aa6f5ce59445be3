import { type KubeletSkew, kubeletRefusal } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { member } from '@machineadm/document/values/untyped.ts';

/**
 * Why kubeadm would refuse this kubelet for the document. A machine that joins may find another version of the control
 * plane than its own: only the first one of a cluster is compared with it.
 */
export function kubeletSkew(kubernetes: KubernetesModel, kubelet: Version, kubeadm: Version): KubeletSkew | undefined {
  if (isPreflightIgnored(kubernetes, 'KubeletVersion')) return undefined;
  const isFirst = kubernetes.role === 'InitControlPlane';
  return kubeletRefusal(kubelet, kubeadm, isFirst ? parseVersion(kubernetes.version) : undefined);
}

/**
 * Whether the document lets a kubelet run with cgroup v1 that would not do so by itself: kubeadm's check is switched off,
 * and the kubelet's configuration says so. A machine that joins gets that from its cluster.
 *
 * @param patched what the files of `patches.directory` do to the kubelet's configuration; 'unknown': a file that is still to
 *   be written may do it
 */
export function allowsCgroupV1(kubernetes: KubernetesModel, patched: readonly unknown[] | 'unknown'): boolean {
  const { role, node, kubeadm } = kubernetes;
  if (!isPreflightIgnored(kubernetes, 'SystemVerification')) return false;
  if (role !== 'InitControlPlane' || patched === 'unknown') return true;
  const own = kubeadm.patches.flatMap(({ target, patch }) => (target === 'kubeletconfiguration' ? [patch] : []));
  return [...own, ...patched].reduce<unknown>(failsCgroupV1, node.kubelet.config.failCgroupV1) === false;
}

/** The setting after a patch: strategic and merge patches are objects, JSON patches are lists. */
function failsCgroupV1(before: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) return member(patch, 'failCgroupV1') ?? before;
  const last: unknown = patch.findLast((change: unknown) => member(change, 'path') === '/failCgroupV1');
  if (last === undefined) return before;
  return member(last, 'op') === 'remove' ? undefined : member(last, 'value');
}

/** kubeadm compares the names of its checks in lower case (k/k cmd/kubeadm/app/preflight/checks.go, setHasItemOrAll). */
export function isPreflightIgnored({ kubeadm }: KubernetesModel, check: string): boolean {
  return kubeadm.ignorePreflightErrors.some((name) => ['all', check.toLowerCase()].includes(name.toLowerCase()));
}
