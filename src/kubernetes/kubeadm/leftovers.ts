import type { KubernetesModel } from '../../document/model.ts';
import type { QueryHost } from '../../host/host.ts';
import {
  ADMIN_KUBECONFIG,
  BOOTSTRAP_KUBELET_KUBECONFIG,
  CONTROLLER_MANAGER_KUBECONFIG,
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBELET_DIRECTORY,
  KUBELET_KUBECONFIG,
  SCHEDULER_KUBECONFIG,
  STATIC_PODS_DIRECTORY,
  SUPER_ADMIN_KUBECONFIG,
} from '../paths.ts';

/** What an earlier bootstrap left on the disk. */
export interface Leftovers {
  /** Credentials, static pods and etcd data: they prove that a bootstrap ran, and kubeadm's preflight refuses them. */
  readonly traces: readonly string[];
  /**
   * Certificates and keys under the names kubeadm gives them. Not proof by themselves (an image may carry a CA), but
   * after an attempt of ours they may be half written: kubeadm writes them in place (k/k client-go util/cert).
   */
  readonly certificates: readonly string[];
}

/** kubeadm writes these names only (k/k cmd/kubeadm/app/constants); a kube-vip manifest of the document is not among them. */
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const CERTIFICATES = [
  'apiserver',
  'apiserver-etcd-client',
  'apiserver-kubelet-client',
  'ca',
  'etcd/ca',
  'etcd/healthcheck-client',
  'etcd/peer',
  'etcd/server',
  'front-proxy-ca',
  'front-proxy-client',
  'sa',
];

/**
 * Looks for what an earlier bootstrap left behind.
 *
 * @param provided paths that the document itself writes; they are no leftovers
 */
export async function findLeftovers(
  host: QueryHost,
  kubernetes: KubernetesModel,
  provided: ReadonlySet<string>,
): Promise<Leftovers> {
  const present = async (paths: readonly string[]): Promise<string[]> => {
    const found: string[] = [];
    for (const path of paths) {
      if (!provided.has(path) && (await host.stat(path)) !== undefined) found.push(path);
    }
    return found;
  };
  const { certificatesDirectory } = kubernetes.cluster;
  return {
    traces: await present([
      KUBELET_KUBECONFIG,
      BOOTSTRAP_KUBELET_KUBECONFIG,
      ADMIN_KUBECONFIG,
      SUPER_ADMIN_KUBECONFIG,
      CONTROLLER_MANAGER_KUBECONFIG,
      SCHEDULER_KUBECONFIG,
      ...COMPONENTS.map((name) => `${STATIC_PODS_DIRECTORY}/${name}.yaml`),
      etcdMemberDirectory(kubernetes),
    ]),
    certificates: await present(
      CERTIFICATES.flatMap((name) => ['crt', 'key', 'pub'].map((kind) => `${certificatesDirectory}/${name}.${kind}`)),
    ),
  };
}

/** What `kubeadm reset` deletes, with all below it (k/k cmd/kubeadm/app/cmd/phases/reset/cleanupnode.go). */
export function pathsOfReset(kubernetes: KubernetesModel): readonly string[] {
  return [
    KUBELET_KUBECONFIG,
    BOOTSTRAP_KUBELET_KUBECONFIG,
    ADMIN_KUBECONFIG,
    SUPER_ADMIN_KUBECONFIG,
    CONTROLLER_MANAGER_KUBECONFIG,
    SCHEDULER_KUBECONFIG,
    STATIC_PODS_DIRECTORY,
    kubernetes.cluster.certificatesDirectory,
    KUBELET_DIRECTORY,
    etcdMemberDirectory(kubernetes),
  ];
}

/** Where a stacked etcd keeps its member; it exists once etcd has run. */
export function etcdMemberDirectory(kubernetes: KubernetesModel): string {
  const { etcd } = kubernetes.controlPlane;
  const directory = etcd.kind === 'local' ? etcd.dataDirectory : undefined;
  return `${directory ?? DEFAULT_ETCD_DATA_DIRECTORY}/member`;
}
