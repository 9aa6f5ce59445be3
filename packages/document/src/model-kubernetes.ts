import type { PatchTarget } from './kubernetes-releases/kubeadm.ts';
import type { Argument, ControlPlaneModel, EnvironmentVariable } from './model-control-plane.ts';
import type { Platform } from './model-host.ts';
import type { SecretValue } from './secret.ts';

/** Where containerd listens; on Windows that of kubeadm, too (k/k cmd/kubeadm/app/constants/constants_windows.go). */
export const DEFAULT_CRI_SOCKETS: Readonly<Record<Platform, string>> = {
  linux: 'unix:///run/containerd/containerd.sock',
  windows: 'npipe:////./pipe/containerd-containerd',
};

export type Role = 'InitControlPlane' | 'JoinControlPlane' | 'Worker';

export interface KubernetesModel {
  /** Exact, with the leading v: `v1.35.2`. */
  readonly version: string;
  readonly role: Role;
  readonly kubeadm: KubeadmModel;
  /** Set: this program bootstraps the node, and kubeadm is not used. */
  readonly exec: ExecModel | undefined;
  readonly cluster: ClusterModel;
  readonly pki: PkiModel;
  readonly controlPlane: ControlPlaneModel;
  readonly node: NodeModel;
  readonly join: JoinModel | undefined;
  readonly addons: AddonsModel;
  readonly timeouts: TimeoutsModel;
  readonly ready: ReadyModel;
}

export interface KubeadmModel {
  /** kubeadm's --v, at most 5: from 8 it prints request bodies with Secrets. */
  readonly verbosity: number | undefined;
  readonly skipPhases: readonly string[];
  readonly ignorePreflightErrors: readonly string[];
  /** A directory of patches that is not ours; excludes `patches`. */
  readonly patchesDirectory: string | undefined;
  readonly patches: readonly KubeadmPatch[];
  readonly retry: RetryModel;
}

/** How often the bootstrapper may be run in one run of ours, and what lies between. */
export interface RetryModel {
  /** 1 to 3, the first included. */
  readonly attempts: number;
  /** Before the second attempt; twice as long before the third. */
  readonly backoffMs: number;
}

/** A patch of one of kubeadm's targets, in kubeadm's words. */
export interface KubeadmPatch {
  readonly target: PatchTarget;
  /** `json` is a list of operations (RFC 6902), the others are a part of the object. */
  readonly type: 'strategic' | 'merge' | 'json';
  readonly patch: Readonly<Record<string, unknown>> | readonly unknown[];
}

/** A program in kubeadm's place. */
export interface ExecModel {
  /** Absolute, or a name on root's PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly timeoutMs: number;
  /** What proves that the node works: `successTest`, or the kubelet's health endpoint. In the place of `ready.require`. */
  readonly proof: 'Command' | 'KubeletHealthy';
  /** Ends with status 0 once the node works. */
  readonly successTest: readonly string[] | undefined;
  readonly failurePatterns: readonly FailurePattern[];
  /** Undoes what the program did, before another attempt and for `machineadm reset`. */
  readonly reset: readonly string[] | undefined;
  readonly retry: RetryModel;
}

/** What a line of the program means, once it failed. */
export interface FailurePattern {
  /** A regular expression in RE2's syntax. */
  readonly pattern: string;
  /** A sentence for people. */
  readonly reason: string;
  readonly remedy: string | undefined;
  /** True where another attempt may succeed. */
  readonly retryable: boolean;
}

export interface ClusterModel {
  readonly name: string | undefined;
  /** host:port */
  readonly controlPlaneEndpoint: string | undefined;
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly dnsDomain: string | undefined;
  readonly imageRepository: string | undefined;
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly certificatesDirectory: string;
  readonly certificateValidityMs: number | undefined;
  readonly caCertificateValidityMs: number | undefined;
  readonly encryptionAlgorithm: 'RSA-2048' | 'RSA-3072' | 'RSA-4096' | 'ECDSA-P256' | 'ECDSA-P384' | undefined;
  readonly bootstrapTokens: readonly BootstrapToken[];
}

export interface BootstrapToken {
  readonly token: SecretValue;
  readonly description: string | undefined;
  readonly ttlMs: number | undefined;
  /** RFC 3339; excludes ttl. */
  readonly expires: string | undefined;
  readonly usages: readonly string[];
  readonly groups: readonly string[];
}

export interface PkiModel {
  readonly ca: KeyPair | undefined;
  readonly etcd: KeyPair | undefined;
  readonly frontProxy: KeyPair | undefined;
  readonly serviceAccount: { readonly publicKey: string; readonly key: SecretValue } | undefined;
  readonly apiserverEtcdClient: KeyPair | undefined;
}

export interface KeyPair {
  /** PEM. */
  readonly certificate: string;
  /** PEM; undefined where only the certificate is handed out (an external CA, a worker). */
  readonly key: SecretValue | undefined;
}

export interface Taint {
  readonly key: string;
  readonly value: string | undefined;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface NodeModel {
  /** undefined = the lower-cased host name, as kubeadm does. */
  readonly name: string | undefined;
  readonly providerID: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** undefined = kubeadm's default for the role; [] = none. */
  readonly taints: readonly Taint[] | undefined;
  readonly criSocket: string;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never' | undefined;
  readonly imagePullSerial: boolean | undefined;
  readonly kubelet: {
    /** A KubeletConfiguration without apiVersion and kind. */
    readonly config: Readonly<Record<string, unknown>>;
    readonly args: readonly Argument[];
  };
}

export interface JoinModel {
  readonly discovery: TokenDiscovery | FileDiscovery;
  readonly tlsBootstrapToken: SecretValue | undefined;
  readonly caCertPath: string;
}

export interface TokenDiscovery {
  readonly token: SecretValue;
  /** host:port of the API server. */
  readonly endpoint: string;
  /** `sha256:<hex>` each. */
  readonly caCertHashes: readonly string[];
  readonly unsafeSkipCAVerification: boolean;
}

export interface FileDiscovery {
  /** Where kubeadm reads a kubeconfig. */
  readonly path: string;
  /** Written to `path` before; undefined = something else puts it there. */
  readonly kubeconfig: DiscoveryKubeconfig | undefined;
  /** host:port of the API server, where the document names it. */
  readonly endpoint: string | undefined;
}

/** What leads a joining machine to its cluster, and how it proves who it is. */
export interface DiscoveryKubeconfig {
  /** `https://api.example:6443` */
  readonly server: string;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTLSVerify: boolean;
  /** PEM; undefined = the system's authorities. */
  readonly certificateAuthority: string | undefined;
  readonly proxyURL: string | undefined;
  readonly user: DiscoveryUser;
}

export type DiscoveryUser =
  | {
      readonly kind: 'exec';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly EnvironmentVariable[];
      /** `client.authentication.k8s.io/v1` */
      readonly apiVersion: string;
      readonly provideClusterInfo: boolean;
    }
  | { readonly kind: 'token'; readonly token: SecretValue }
  /** Nothing but the way to the cluster: the TLS bootstrap token proves who asks. */
  | { readonly kind: 'none' };

export interface AddonsModel {
  readonly dns: {
    readonly enabled: boolean;
    readonly imageRepository: string | undefined;
    readonly imageTag: string | undefined;
  };
  readonly proxy: {
    readonly enabled: boolean;
    /** A KubeProxyConfiguration without apiVersion and kind. */
    readonly config: Readonly<Record<string, unknown>>;
  };
}

/** undefined leaves kubeadm's own default, but `overallMs`, which is ours. */
export interface TimeoutsModel {
  readonly controlPlaneMs: number | undefined;
  readonly kubeletMs: number | undefined;
  readonly apiMs: number | undefined;
  readonly etcdMs: number | undefined;
  readonly tlsBootstrapMs: number | undefined;
  readonly discoveryMs: number | undefined;
  /** Deadline of the whole run. */
  readonly overallMs: number;
}

export interface ReadyModel {
  readonly require: 'KubeletHealthy' | 'NodeRegistered' | 'NodeReady';
  readonly timeoutMs: number;
}
