import type { PathSegment } from '../../diagnostics/index.ts';

/** Parts of the document in the words of another program, whose numbers are handed to it as they are written. */
const OTHERS_WORDS = [
  ['host', 'sysctl'],
  ['containerRuntime', 'containerd', 'settings'],
  ['containerRuntime', 'containerd', 'runtimes', '*', 'options'],
  ['kubernetes', 'node', 'kubelet', 'config'],
  ['kubernetes', 'addons', 'proxy', 'config'],
  ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', '*', 'patch'],
  ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments'],
  ['kubernetes', 'controlPlane', 'apiServer', 'admission', 'config', '*', 'configuration'],
];

export function keepsNumber(path: readonly PathSegment[]): boolean {
  return OTHERS_WORDS.some(
    (parts) => parts.length < path.length && parts.every((part, index) => part === '*' || part === path[index]),
  );
}
