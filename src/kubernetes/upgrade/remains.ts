import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** Where kubeadm keeps copies of an upgrade (k/k cmd/kubeadm/app/constants/constants.go, TempDir). */
const KUBEADM_COPIES = '/etc/kubernetes/tmp';
/** Names of its upgrade (k/k cmd/kubeadm/app/phases/upgrade); a dry run has others. */
const OF_UPGRADE = /^kubeadm-(?:backup-etcd|backup-manifests|upgraded-manifests|kubelet-config|kubelet-env)/;

/**
 * What upgrades left on this machine, for a reset: the snapshot of etcd, which has every Secret of the cluster, and the
 * copies that kubeadm keeps. Those of a kubeadm that somebody ran by hand are not ours.
 */
export async function upgradeRemains(host: QueryHost): Promise<readonly string[]> {
  if ((await host.stat(UPGRADE_DIRECTORY)) === undefined) return [];
  const names = ((await host.list(KUBEADM_COPIES)) ?? []).filter((name) => OF_UPGRADE.test(name));
  return [...names.map((name) => `${KUBEADM_COPIES}/${name}`), UPGRADE_DIRECTORY];
}
