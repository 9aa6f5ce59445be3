import { base64 } from './encoding.ts';

/** A bootstrap data Secret, as the contract of bootstrap providers has it. */
export interface BootstrapSecret {
  readonly name: string;
  readonly namespace: string | undefined;
  /** The Cluster it belongs to: `clusterctl move` goes by the label. */
  readonly cluster: string | undefined;
  readonly format: 'cloud-config' | 'ignition';
  readonly userData: string;
}

/**
 * The Secret that hands user data to an infrastructure provider: its name goes into `Machine.spec.bootstrap.dataSecretName`.
 * The keys `value` and `format` and its type are those of cluster-api's kubeadm bootstrap provider (storeBootstrapData).
 * JSON, which is YAML, too. No owner: whoever creates it deletes it.
 */
export function renderBootstrapSecret({ name, namespace, cluster, format, userData }: BootstrapSecret): string {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(cluster === undefined ? {} : { labels: { 'cluster.x-k8s.io/cluster-name': cluster } }),
    },
    type: 'cluster.x-k8s.io/secret',
    data: { value: base64(userData), format: base64(format) },
  };
  return `${JSON.stringify(secret, undefined, 2)}\n`;
}
