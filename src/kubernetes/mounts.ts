/** Where the kubelet mounts volumes of pods and of their drivers (k/k pkg/kubelet/config/defaults.go). */
const KUBELET_MOUNTS = ['/var/lib/kubelet/pods/', '/var/lib/kubelet/plugins/'];
const KUBELET_DIRECTORY = '/var/lib/kubelet';

/** Mount points below what a reset of a node deletes. */
export interface NodeMounts {
  /** The kubelet's own, deepest and latest first: the order for unmounting. */
  readonly kubelet: readonly string[];
  /** All others: their contents are not ours to delete. */
  readonly foreign: readonly string[];
}

/**
 * Classifies the mounts below the directories that kubeadm reset empties. It unmounts those below /var/lib/kubelet,
 * continues where it cannot, and then deletes through the mount (k/k cmd/kubeadm/app/cmd/phases/reset/cleanupnode.go).
 * A file system mounted at one of the directories is the node's own.
 *
 * @param mountPoints in the order of proc_pid_mountinfo(5)
 * @param deleted the other directories that are emptied: etcd's, the certificates'
 */
export function nodeMounts(mountPoints: readonly string[], deleted: readonly string[]): NodeMounts {
  const below = [KUBELET_DIRECTORY, ...deleted].map((directory) => `${directory}/`);
  const found = mountPoints.filter((point) => below.some((directory) => point.startsWith(directory)));
  const isKubelets = (point: string): boolean => KUBELET_MOUNTS.some((directory) => point.startsWith(directory));
  return {
    kubelet: found.filter(isKubelets).reverse(),
    foreign: found.filter((point) => !isKubelets(point)),
  };
}
