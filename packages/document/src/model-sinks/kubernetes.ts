import type { SecretValue } from '../secret.ts';
import type { RemoteOptions } from './remote.ts';

/** A ConfigMap of the management cluster, there before this machine is. */
export interface KubernetesSinkModel extends RemoteOptions {
  readonly kind: 'Kubernetes';
  readonly access: ClusterAccess;
  readonly configMap: { readonly namespace: string; readonly name: string };
}

/** How to reach the API server and prove who asks. */
export type ClusterAccess =
  | { readonly kubeconfig: SecretValue }
  | {
      /** `https://host:port`, with a path where clusters share a server. */
      readonly server: string;
      /** The name in the server's certificate where it is not the host of `server`. */
      readonly serverName: string | undefined;
      /** PEM; nobody else is trusted. */
      readonly certificateAuthority: string;
      readonly credential:
        | { readonly token: SecretValue }
        | { readonly certificate: string; readonly key: SecretValue };
    };

/** This machine's own Node in its own cluster. */
export interface NodeSinkModel extends RemoteOptions {
  readonly kind: 'Node';
  /** The kubelet's; undefined = where kubeadm writes it. */
  readonly kubeconfig: string | undefined;
}
