import type { SecretValue } from './secret.ts';
import type { ApiServerModel } from './sections/api-server/index.ts';
import type { Argument, ComponentModel, PodEnvironmentVariable } from './sections/kubernetes/component.ts';

export type * from './sections/kubernetes/component.ts';
export type { ApiServerModel };

export interface ControlPlaneModel {
  readonly apiEndpoint: { readonly advertiseAddress: string | undefined; readonly bindPort: number | undefined };
  readonly apiServer: ApiServerModel;
  readonly controllerManager: ComponentModel;
  readonly scheduler: ComponentModel;
  readonly etcd: EtcdModel;
  /** 64 hex digits; encrypts the shared certificates on upload and decrypts them on a control-plane join. */
  readonly certificateKey: SecretValue | undefined;
  readonly staticPods: readonly StaticPodModel[];
}

/** A pod that the kubelet starts from a file beside kubeadm's own, as kube-vip is. */
export interface StaticPodModel {
  /** Of the file, without `.yaml`. */
  readonly name: string;
  /** YAML or JSON of one Pod. */
  readonly manifest: string;
  /**
   * `Auto`: volumes of /etc/kubernetes/admin.conf hold super-admin.conf where admin.conf has no rights yet, which is
   * during `kubeadm init` since 1.29.
   */
  readonly adminKubeconfig: 'Auto' | 'AsWritten';
}

export type EtcdModel =
  | {
      readonly kind: 'local';
      readonly dataDirectory: string | undefined;
      readonly imageRepository: string | undefined;
      readonly imageTag: string | undefined;
      readonly args: readonly Argument[];
      readonly env: readonly PodEnvironmentVariable[];
      readonly serverCertSANs: readonly string[];
      readonly peerCertSANs: readonly string[];
    }
  | {
      readonly kind: 'external';
      readonly endpoints: readonly string[];
      /** Where etcd serves /metrics and /version apart from gRPC; empty = where it serves gRPC. */
      readonly httpEndpoints: readonly string[];
      readonly caFile: string;
      readonly certFile: string;
      readonly keyFile: string;
    };
