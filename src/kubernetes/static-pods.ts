import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import {
  ADMIN_KUBECONFIG,
  SUPER_ADMIN_KUBECONFIG,
  staticPodPath,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { NewFile } from '../host/seam/host.ts';

/** Read by the kubelet alone; CIS Kubernetes Benchmark 1.1 asks the same of kubeadm's own manifests. */
const MANIFEST_MODE = 0o600;
/** As kubeadm makes it (k/k cmd/kubeadm/app/util/staticpod). */
const DIRECTORY_MODE = 0o700;

/** The paths of the document's static pods. */
export function staticPodPaths({ controlPlane }: KubernetesModel): readonly string[] {
  return controlPlane.staticPods.map(({ name }) => staticPodPath(name));
}

/**
 * The manifests of the document's static pods, as they must lie before kubeadm starts the kubelet. Byte for byte as they
 * were written, but for `adminKubeconfig: Auto` where it has something to change.
 */
export async function staticPodFiles(kubernetes: KubernetesModel, kubeadm: Version): Promise<readonly NewFile[]> {
  const superAdmin = needsSuperAdmin(kubernetes, kubeadm);
  const files: NewFile[] = [];
  for (const { name, manifest, adminKubeconfig } of kubernetes.controlPlane.staticPods) {
    const content = superAdmin && adminKubeconfig === 'Auto' ? await withSuperAdmin(manifest) : manifest;
    files.push({ path: staticPodPath(name), content, mode: MANIFEST_MODE, directoryMode: DIRECTORY_MODE });
  }
  return files;
}

/**
 * Beside super-admin.conf, admin.conf is a member of a group that has no rights before `kubeadm init` has bound them through the API
 * (k/k#121305), and a virtual address must be held before the API can be reached. A joining machine gets an admin.conf
 * that works.
 */
function needsSuperAdmin({ role }: KubernetesModel, kubeadm: Version): boolean {
  return role === 'InitControlPlane' && (kubeadm.major > 1 || has('superAdminKubeconfig', kubeadm.minor));
}

/** The same manifest with super-admin.conf under the volumes of admin.conf; comments and order stay. */
async function withSuperAdmin(manifest: string): Promise<string> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(manifest, QUIET);
  const volumes = member(member(document.toJS(), 'spec'), 'volumes');
  const affected = Array.isArray(volumes)
    ? volumes.flatMap((volume, index) =>
        text(member(member(volume, 'hostPath'), 'path')) === ADMIN_KUBECONFIG ? [index] : [],
      )
    : [];
  for (const index of affected) {
    document.setIn(['spec', 'volumes', index, 'hostPath', 'path'], SUPER_ADMIN_KUBECONFIG);
  }
  return affected.length === 0 ? manifest : document.toString({ lineWidth: 0 });
}
