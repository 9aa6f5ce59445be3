import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { nodeNameOfCertificate } from '../host/cluster/kubelet.ts';
import type { Facts } from '../host/seam/facts.ts';

/** The expected name of this machine's Node: kubeadm's default is the lower-cased host name. */
export function expectedNodeName(kubernetes: KubernetesModel, model: Model, facts: Facts): string {
  return kubernetes.node.name ?? (model.host.hostname ?? facts.hostname).toLowerCase();
}

/**
 * The actual name of this machine's Node. If the document does not set it, the kubelet's certificate has it: a hook may
 * have set another name in kubeadm's configuration, and cloud providers assign names of their own.
 */
export function ownNodeName(
  { certificate }: { readonly certificate: string },
  expected: { readonly nodeName: string; readonly nodeNameGiven: boolean },
): string {
  const own = expected.nodeNameGiven ? undefined : nodeNameOfCertificate(certificate);
  return own ?? expected.nodeName;
}
