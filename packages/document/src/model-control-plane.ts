import type { ApiServerFilesModel } from './model-api-server.ts';
import type { SecretValue } from './secret.ts';

export interface Argument {
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** Of a static pod: a value, or something that the pod knows of itself (the downward API). */
export type PodEnvironmentVariable = EnvironmentVariable | PodEnvironmentReference;

export interface PodEnvironmentReference {
  readonly name: string;
  readonly valueFrom:
    | { readonly fieldRef: { readonly fieldPath: string; readonly apiVersion?: string | undefined } }
    | {
        readonly resourceFieldRef: {
          readonly resource: string;
          readonly containerName?: string | undefined;
          readonly divisor?: string | undefined;
        };
      };
}

export interface HostPathVolume {
  readonly name: string;
  readonly hostPath: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
  readonly pathType: string | undefined;
}

export interface ComponentModel {
  readonly args: readonly Argument[];
  readonly env: readonly PodEnvironmentVariable[];
  readonly volumes: readonly HostPathVolume[];
}

export interface ApiServerModel extends ComponentModel, ApiServerFilesModel {
  readonly certSANs: readonly string[];
}

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
