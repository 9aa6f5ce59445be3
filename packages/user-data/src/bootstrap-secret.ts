import { base64 } from './encoding.ts';

/** A bootstrap data Secret as defined by Cluster API's contract for bootstrap providers. */
export interface BootstrapSecret {
  readonly name: string;
  readonly namespace: string | undefined;
  /** The Cluster the Secret belongs to: `clusterctl move` selects by this label. */
  readonly cluster: string | undefined;
  readonly format: 'cloud-config' | 'ignition';
  readonly userData: string;
}

/**
 * The Secret that passes user data to an infrastructure provider: `Machine.spec.bootstrap.dataSecretName` names it. The
 * keys `value` and `format` and the type are those of cluster-api's kubeadm bootstrap provider (storeBootstrapData).
 * Rendered as JSON, which is also YAML. It has no owner reference: whoever creates it deletes it.
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
