import type { KubernetesModel, Model } from '../document/model.ts';
import type { Facts } from '../host/facts.ts';

/** The name this machine's Node will have: kubeadm takes the lower-cased host name where it is told none. */
export function expectedNodeName(kubernetes: KubernetesModel, model: Model, facts: Facts): string {
  return kubernetes.node.name ?? (model.host.hostname ?? facts.hostname).toLowerCase();
}
