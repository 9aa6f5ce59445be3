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
    if (await isSamePod(source, found.manifest)) return { diff: [] };
    return { diff: [`--- ${path}`, ...(await changedLines(source, found.manifest))] };
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { why: errorMessage(error) };
  }
}

/** The lines that only one of two manifests has. Both are written in the same way, with each value on one line, which can be hidden. */
async function changedLines(before: string, after: string): Promise<readonly string[]> {
  const { stringify } = await import('yaml');
  const [old = [], wanted = []] = await Promise.all(
    [before, after].map(async (text) =>
      stringify(await withoutOwnAnnotation(text), { sortMapEntries: true, lineWidth: 0, blockQuote: false })
        .trimEnd()
        .split('\n'),
    ),
  );
  return [...without(old, wanted).map((line) => `-${line}`), ...without(wanted, old).map((line) => `+${line}`)];
}

/** The first lines without the second ones, each as often as it occurs. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const left = counts.get(line) ?? 0;
    counts.set(line, left - 1);
    return left <= 0;
  });
}
