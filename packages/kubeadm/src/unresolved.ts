import type { LoadedDocument } from '@machineadm/document/loading/load.ts';

const NODE_ADDRESSES = 'kubernetes.node.addresses';

/** The fields whose values only the machine has: what is rendered elsewhere lacks them. */
export function fieldsOfMachine({
  model,
  unresolved,
}: Pick<LoadedDocument, 'model' | 'unresolved'>): readonly string[] {
  return model.kubernetes?.node.addresses === undefined ? unresolved : [...unresolved, NODE_ADDRESSES];
}

/** What the configuration for kubeadm lacks without such a field. */
export function lackingWithout(field: string): string {
  return field === NODE_ADDRESSES ? `${field}: node-ip of the kubelet, and the addresses of the API server` : field;
}
