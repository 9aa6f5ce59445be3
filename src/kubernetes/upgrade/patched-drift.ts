import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { reconfiguration } from '@machineadm/kubeadm/api-server/cluster-configuration.ts';
import {
  API_SERVER_MANIFEST,
  isSamePod,
  readManifest,
  withoutOwnAnnotation,
} from '@machineadm/kubeadm/api-server/manifest.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type PreviewedPod, previewManifest } from '../api-server/render-manifest.ts';

/** What kubeadm needs to write the manifests of this machine. */
export interface PatchedPods {
  readonly kubernetes: KubernetesModel;
  /** Of CRI. */
  readonly socket: string;
  /** The cluster's ClusterConfiguration. */
  readonly cluster: unknown;
  readonly nodeName: string;
}

/**
 * The edits of a static pod that kubeadm patches, as a diff from the manifest on the disk to the one that kubeadm would write with
 * the patches of the document; or why they are not known.
 *
 * @param from the version that runs
 */
export async function patchedEdits(
  host: QueryHost,
  pod: PreviewedPod,
  kubeadm: Version,
  from: string,
  { kubernetes, socket, cluster, nodeName }: PatchedPods,
): Promise<{ readonly diff: readonly string[] } | { readonly why: string }> {
  const path = staticPodPath(pod);
  const source = await host.readText(path);
  if (source === undefined) return { diff: [] };
  const now = await readManifest(source);
  if (now === undefined) return { why: `${path} is not a pod` };
  const api = await readManifest((await host.readText(API_SERVER_MANIFEST)) ?? '');
  const node = { ...kubernetes.node, criSocket: kubernetes.node.criSocket ?? socket };
  // Once the first control plane is upgraded, the cluster has the new version, and this machine still runs the old one.
  const running = { ...(isRecord(cluster) ? cluster : {}), kubernetesVersion: from };
  try {
    const found = await previewManifest(host, pod, { kubernetes, kubeadm, now }, (patchesDirectory) =>
      reconfiguration({
        ...{ kubernetes: { ...kubernetes, node }, kubeadm, cluster: running, pods: [], nodeName },
        ...{ endpoint: api?.endpoint, patchesDirectory },
      }),
    );
    if ('why' in found) return found;
    return { diff: await editsBetween(path, source, found.manifest) };
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { why: errorMessage(error) };
  }
}

/**
 * The lines that differ between two manifests, as those of a unified diff, after one with the path; none for the same pod. Both
 * are written in the same way, with each value on one line, which can be hidden.
 */
export async function editsBetween(path: string, before: string, after: string): Promise<readonly string[]> {
  if (await isSamePod(before, after)) return [];
  const [{ stringify }, { diffLines }] = await Promise.all([import('yaml'), import('diff')]);
  const [old = '', wanted = ''] = await Promise.all(
    [before, after].map(async (text) =>
      stringify(await withoutOwnAnnotation(text), { sortMapEntries: true, lineWidth: 0, blockQuote: false }),
    ),
  );
  const changed = diffLines(old, wanted).filter(({ added, removed }) => added || removed);
  const lines = changed.flatMap(({ added, value }) =>
    value
      .trimEnd()
      .split('\n')
      .map((line) => `${added ? '+' : '-'}${line}`),
  );
  return [`--- ${path}`, ...lines];
}
