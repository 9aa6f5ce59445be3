import { X509Certificate } from 'node:crypto';
import type { KubernetesModel, Model } from '../document/model.ts';
import type { Facts } from '../host/facts.ts';

/** Who a kubelet's certificate says it is (k/k pkg/kubelet/certificate, `system:node:<name>`). */
const NODE_USER = /^CN=system:node:(.+)$/m;

/** The name this machine's Node will have: kubeadm takes the lower-cased host name where it is told none. */
export function expectedNodeName(kubernetes: KubernetesModel, model: Model, facts: Facts): string {
  return kubernetes.node.name ?? (model.host.hostname ?? facts.hostname).toLowerCase();
}

/** The node name in a kubelet's client certificate (PEM; the first one counts); undefined where it names no node. */
export function nodeNameOfCertificate(pem: string): string | undefined {
  try {
    return NODE_USER.exec(new X509Certificate(pem).subject)?.[1];
  } catch {
    return undefined;
  }
}
