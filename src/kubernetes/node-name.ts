import type { KubernetesModel, Model } from '@machineadm/document/model.ts';
import { nodeNameOfCertificate } from '../host/cluster/kubelet.ts';
import type { Facts } from '../host/seam/facts.ts';

/** The name this machine's Node will have: kubeadm takes the lower-cased host name where it is told none. */
export function expectedNodeName(kubernetes: KubernetesModel, model: Model, facts: Facts): string {
  return kubernetes.node.name ?? (model.host.hostname ?? facts.hostname).toLowerCase();
}

/**
 * The name that this machine's Node has. Where the document does not name the node, the kubelet's certificate does: a
 * hook may have put another name into kubeadm's configuration, and a cloud provider gives names of its own.
 */
export function ownNodeName(
  { certificate }: { readonly certificate: string },
  expected: { readonly nodeName: string; readonly nodeNameGiven: boolean },
): string {
  const own = expected.nodeNameGiven ? undefined : nodeNameOfCertificate(certificate);
  return own ?? expected.nodeName;
}
