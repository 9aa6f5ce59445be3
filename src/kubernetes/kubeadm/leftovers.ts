import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import {
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBEADM_PODS,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { CERTIFICATES, type Keeper, RESET_FILES } from './inventory.ts';

/** Files of an earlier bootstrap on disk. */
export interface Leftovers {
  /** Credentials, static pods and etcd data: they prove that a bootstrap ran, and kubeadm's preflight refuses them. */
  readonly traces: readonly string[];
  /**
   * Certificates and keys under kubeadm's names. They prove nothing by themselves (an image may contain a CA), but
   * after an attempt of ours they may be incomplete: kubeadm writes them in place (k/k client-go util/cert).
   */
  readonly certificates: readonly string[];
}

/**
 * Looks for files of an earlier bootstrap.
 *
 * @param provided paths that the document itself writes; they are not leftovers
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
      ...RESET_FILES,
      ...KUBEADM_PODS.map((name) => `${STATIC_PODS_DIRECTORY}/${name}.yaml`),
      etcdMemberDirectory(kubernetes),
    ]),
    certificates: await present(
      CERTIFICATES.flatMap((name) => ['crt', 'key', 'pub'].map((kind) => `${certificatesDirectory}/${name}.${kind}`)),
    ),
  };
}

/** The same without the paths that a reset must keep. */
export function leftoversWithout({ traces, certificates }: Leftovers, keeper: Keeper): Leftovers {
  const isOurs = (path: string): boolean => !keeper.keepsAnyOf(path);
  return { traces: traces.filter(isOurs), certificates: certificates.filter(isOurs) };
}

/** The member directory of a stacked etcd; it exists once etcd has run. */
function etcdMemberDirectory(kubernetes: KubernetesModel): string {
  const { etcd } = kubernetes.controlPlane;
  const directory = etcd.kind === 'local' ? etcd.dataDirectory : undefined;
  return `${directory ?? DEFAULT_ETCD_DATA_DIRECTORY}/member`;
}
