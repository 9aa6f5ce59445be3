import type { QueryHost } from '../../host/seam/host.ts';
import { getNode } from '../../kubernetes/node-client.ts';
import { ownNodeName } from '../../kubernetes/node-name.ts';
import { stepObstacle } from '../../kubernetes/upgrade/check-versions.ts';
import { ClusterUnanswered, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { controlPlaneVersions } from '../../kubernetes/upgrade/running-version.ts';
import type { Upgrade } from '../../step/upgrade-order.ts';

/**
 * The version that this node runs: of its control plane, or of the kubelet that reported last. undefined: not known.
 *
 * @param name of its Node in the document
 */
export async function runningVersion(
  host: QueryHost,
  isControlPlane: boolean,
  name: string | undefined,
): Promise<string | undefined> {
  if (isControlPlane) return (await controlPlaneVersions(host)).get('kube-apiserver');
  try {
    const credential = await ownCredential(host, false);
    const nodeName = ownNodeName(credential, { nodeName: name ?? '', nodeNameGiven: name !== undefined });
    const node = await getNode(credential, nodeName);
    return node.kind === 'found' && node.object.kubeletVersion !== '' ? node.object.kubeletVersion : undefined;
  } catch (error) {
    if (error instanceof ClusterUnanswered) return undefined;
    throw error;
  }
}

/** What to do first, where Kubernetes does not support an upgrade between these versions; undefined: it does. */
export function remedyForVersions(versions: Pick<Upgrade, 'from' | 'to'>): string | undefined {
  return stepObstacle(versions)?.remedy;
}
