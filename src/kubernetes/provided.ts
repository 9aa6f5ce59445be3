import type { FileModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { apiServerPaths } from './api-server/files.ts';
import { pkiFiles } from './pki.ts';
import { staticPodPaths } from './static-pods.ts';

/** Paths of files that the document itself provides: they are not leftovers of a bootstrap. */
export function documentPaths(kubernetes: KubernetesModel, files: readonly FileModel[]): ReadonlySet<string> {
  const { etcd } = kubernetes.controlPlane;
  return new Set([
    // Only the paths are needed, so the keys are not resolved.
    ...pkiFiles({ kubernetes, secrets: () => '' }).map(({ path }) => path),
    ...staticPodPaths(kubernetes),
    ...apiServerPaths(kubernetes),
    ...files.map(({ path }) => path),
    ...(etcd.kind === 'external' ? [etcd.caFile, etcd.certFile, etcd.keyFile] : []),
  ]);
}
