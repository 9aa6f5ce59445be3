import type { PathSegment } from '../../diagnostics/index.ts';
import { ENTRY_KEYS_OF_PARTS } from '../../host-parts/index.ts';

/**
 * Lists of things, and the fields that identify an entry: the first of them that it has. `a+b` are two that do it together.
 * Every other list is replaced as a whole by a later source. docs/merging.md lists them; a test compares.
 */
export const ENTRY_KEYS: Readonly<Record<string, readonly string[]>> = {
  ...ENTRY_KEYS_OF_PARTS,
  'containerRuntime.containerd.registries': ['host'],
  'images.archives': ['path', 'url'],
  'kubernetes.bootstrapper.kubeadm.patches': ['target'],
  'kubernetes.bootstrapper.kubeadm.extraDocuments': ['kind'],
  'kubernetes.bootstrapper.exec.env': ['name'],
  'kubernetes.controlPlane.*.args': ['name'],
  'kubernetes.controlPlane.*.env': ['name'],
  'kubernetes.controlPlane.*.volumes': ['name'],
  'kubernetes.controlPlane.apiServer.admission.config': ['plugin'],
  'kubernetes.controlPlane.etcd.local.args': ['name'],
  'kubernetes.controlPlane.etcd.local.env': ['name'],
  'kubernetes.controlPlane.staticPods': ['name'],
  'kubernetes.node.taints': ['key+effect'],
  'kubernetes.node.kubelet.args': ['name'],
  'kubernetes.join.discovery.file.kubeconfig.user.exec.env': ['name'],
  'hardening.exceptions': ['id'],
};

const PATTERNS = Object.entries(ENTRY_KEYS).map(([pattern, keys]) => ({ parts: pattern.split('.'), keys }));

export function entryKeys(path: readonly PathSegment[]): readonly string[] | undefined {
  return PATTERNS.find(
    ({ parts }) => parts.length === path.length && parts.every((part, index) => part === '*' || part === path[index]),
  )?.keys;
}
