import type { SecretValue } from './secret.ts';

/**
 * What the agent works with: every document version converts to this, so that steps outlive document versions.
 * Durations are milliseconds (`…Ms`), modes are numbers, defaults are filled in, and `undefined` means "not asked for".
 */
export interface Model {
  readonly metadata: Metadata;
  readonly host: HostModel;
  readonly containerd: ContainerdModel | undefined;
  readonly images: ImagesModel;
  readonly kubernetes: KubernetesModel | undefined;
  readonly reporting: ReportingModel;
}

/** Identity of the machine in the management cluster, as the document's writer gave it. */
export interface Metadata {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly cluster: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

export interface HostModel {
  readonly hostname: string | undefined;
  readonly kernelModules: readonly string[];
  readonly sysctl: readonly SysctlSetting[];
  readonly swap: 'Disabled' | 'Unmanaged';
  readonly storage: StorageModel;
  readonly groups: readonly GroupModel[];
  readonly users: readonly UserModel[];
  readonly files: readonly FileModel[];
  readonly time: TimeModel | undefined;
  readonly proxy: ProxyModel | undefined;
  readonly certificateAuthorities: readonly CertificateAuthorityModel[];
  readonly services: readonly ServiceModel[];
  readonly hooks: {
    readonly early: HookGroup | undefined;
    readonly beforeBootstrap: HookGroup | undefined;
    readonly afterBootstrap: HookGroup | undefined;
  };
}

export interface SysctlSetting {
  /** Slash form below /proc/sys: `net/ipv4/conf/eth0.100/rp_filter`. */
  readonly key: string;
  readonly value: string;
}

export interface FileModel {
  readonly path: string;
  readonly content: FileContent;
  /** Permission bits, 0o644. */
  readonly mode: number;
  /** A name or a decimal id. */
  readonly user: string;
  readonly group: string;
  /** Mode of directories created above the file. */
  readonly directoryMode: number;
  /** Added behind what the file has, once; a marker by content makes it idempotent. */
  readonly append: boolean;
  /** True: a file that is there keeps its mode or owner, as the document names none for what it appends. */
  readonly keepsMode?: boolean;
  readonly keepsOwner?: boolean;
}

export type FileContent =
  | { readonly kind: 'inline'; readonly bytes: Uint8Array }
  | { readonly kind: 'secret'; readonly secret: SecretValue }
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly sha256: string;
      readonly headers: Readonly<Record<string, SecretValue>>;
    };

export interface StorageModel {
  readonly disks: readonly DiskModel[];
  readonly filesystems: readonly FilesystemModel[];
  readonly mounts: readonly MountModel[];
}

/** How a block device is found. `partition` names one of its partitions by number. */
export interface DeviceSelector {
  readonly by: DeviceIdentity;
  readonly partition: number | undefined;
  /** How long to wait for it to appear. */
  readonly waitMs: number;
}

export type DeviceIdentity =
  | { readonly kind: 'path'; readonly path: string }
  /** A name below /dev/disk/by-id. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'serial'; readonly serial: string }
  /** Label of a file system. */
  | { readonly kind: 'label'; readonly label: string }
  /** Label of a GPT partition. */
  | { readonly kind: 'partitionLabel'; readonly label: string }
  /** The nth local instance store (NVMe) of the cloud machine, from 0. */
  | { readonly kind: 'instanceStore'; readonly index: number }
  /** Azure's temporary (resource) disk. */
  | { readonly kind: 'azureResource' };

export interface DiskModel {
  readonly device: DeviceSelector;
  readonly table: 'gpt' | 'mbr';
  /** True: an existing table or signature may be destroyed. */
  readonly wipe: boolean;
  readonly partitions: readonly PartitionModel[];
}

export interface PartitionModel {
  readonly label: string | undefined;
  readonly size:
    | { readonly kind: 'bytes'; readonly bytes: number }
    | { readonly kind: 'percent'; readonly percent: number }
    | { readonly kind: 'rest' };
  readonly type: PartitionType;
}

/** A name, or a GPT type GUID in lower case. */
export type PartitionType = 'linux' | 'swap' | 'lvm' | 'raid' | 'efi' | 'fat32' | 'ntfs' | { readonly guid: string };

export interface FilesystemModel {
  readonly device: DeviceSelector;
  readonly type: 'ext4' | 'xfs' | 'btrfs' | 'vfat' | 'swap';
  readonly label: string | undefined;
  /** Given to mkfs as they are. */
  readonly options: readonly string[];
  /** True: whatever is there may be destroyed. */
  readonly overwrite: boolean;
  /** Types that may be destroyed without `overwrite`. */
  readonly replace: readonly string[];
}

export interface MountModel {
  readonly device: DeviceSelector;
  /** The mount point; `none` for swap, as fstab(5) has it. */
  readonly path: string;
  /** undefined = as the device says. */
  readonly type: string | undefined;
  readonly options: readonly string[];
}

export interface GroupModel {
  readonly name: string;
  readonly gid: number | undefined;
  readonly system: boolean;
}

export interface UserModel {
  readonly name: string;
  readonly uid: number | undefined;
  readonly gecos: string | undefined;
  readonly primaryGroup: string | undefined;
  readonly groups: readonly string[];
  readonly home: string | undefined;
  readonly shell: string | undefined;
  readonly system: boolean;
  /** A crypt(5) hash. */
  readonly passwordHash: SecretValue | undefined;
  /** Whether the password is locked; true unless the document says otherwise. */
  readonly locked: boolean;
  /** True: the account is expired and cannot be used at all. */
  readonly inactive: boolean;
  /** The part of a sudoers line behind the user's name. */
  readonly sudo: readonly string[];
  /** undefined leaves the keys alone. */
  readonly sshAuthorizedKeys: readonly string[] | undefined;
}

export interface TimeModel {
  readonly enabled: boolean;
  readonly servers: readonly string[];
  readonly synchronized: { readonly withinMs: number; readonly timeoutMs: number } | undefined;
}

export interface ProxyModel {
  /** May hold credentials. */
  readonly http: SecretValue | undefined;
  readonly https: SecretValue | undefined;
  /** Hosts, domains and subnets that are reached directly, beside those that always are. */
  readonly no: readonly string[];
  readonly for: readonly ProxyUser[];
}

export type ProxyUser = 'agent' | 'containerd' | 'kubelet' | 'environment';

export interface CertificateAuthorityModel {
  readonly name: string;
  /** One or more PEM certificates. */
  readonly pem: string;
}

export interface ServiceModel {
  readonly name: string;
  readonly enabled: boolean | undefined;
  readonly masked: boolean | undefined;
  readonly state: 'Started' | 'Stopped' | undefined;
  readonly dropIns: readonly { readonly name: string; readonly content: string }[];
}

export interface HookGroup {
  readonly shell: 'sh' | 'bash';
  readonly onError: 'Fail' | 'Continue';
  readonly timeoutMs: number;
  readonly commands: readonly string[];
  /** Once per instance, or at every boot. */
  readonly frequency: 'Once' | 'Always';
}

export interface ContainerdModel {
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly sandboxImage: string | undefined;
  /** undefined leaves containerd's own default. */
  readonly restrictOomScoreAdj: boolean | undefined;
  /** A TOML tree in the words of the containerd found; merged last. */
  readonly settings: TomlTable;
}

export type TomlValue = string | number | boolean | readonly TomlValue[] | TomlTable;
export interface TomlTable {
  readonly [key: string]: TomlValue;
}

export interface ImagesModel {
  readonly archives: readonly ImageArchive[];
  readonly required: readonly string[];
}

export interface ImageArchive {
  readonly path: string;
  /** Lower-case hex, or undefined when not given. */
  readonly sha256: string | undefined;
}

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

export type PatchTarget =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubeletconfiguration'
  | 'corednsdeployment';

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
  /** A regular expression in JavaScript's syntax, without flags. */
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

export interface Argument {
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
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
  readonly env: readonly EnvironmentVariable[];
  readonly volumes: readonly HostPathVolume[];
}

export interface ControlPlaneModel {
  readonly apiEndpoint: { readonly advertiseAddress: string | undefined; readonly bindPort: number | undefined };
  readonly apiServer: ComponentModel & { readonly certSANs: readonly string[] };
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
      readonly env: readonly EnvironmentVariable[];
      readonly serverCertSANs: readonly string[];
      readonly peerCertSANs: readonly string[];
    }
  | {
      readonly kind: 'external';
      readonly endpoints: readonly string[];
      readonly caFile: string;
      readonly certFile: string;
      readonly keyFile: string;
    };

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

export interface ReportingModel {
  readonly sentinelPath: string;
  /** What all sinks together may cost after the conclusion. */
  readonly deadlineMs: number;
  readonly sinks: readonly SinkModel[];
}

export type SinkModel = { readonly kind: 'Journal' } | { readonly kind: 'Console'; readonly device: string };
