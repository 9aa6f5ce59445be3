import type { HostPartModels } from './host-parts/index.ts';
import type { ActiveDirectoryModel } from './model-active-directory.ts';
import type { StorageModel } from './model-storage.ts';
import type { SecretValue } from './secret.ts';

/** The operating systems that a document can be for. */
export type Platform = 'linux' | 'windows';

export interface HostModel extends HostPartModels {
  /** What the machine runs. */
  readonly platform: Platform;
  readonly hostname: string | undefined;
  /** What is done where a change holds only behind a reboot. */
  readonly rebootPolicy: 'Never' | 'IfRequired';
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
  readonly activeDirectory: ActiveDirectoryModel | undefined;
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
  /** True: a kernel that has no such key is left without. */
  readonly optional?: boolean;
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
  readonly shell: 'sh' | 'bash' | 'powershell' | 'cmd';
  readonly onError: 'Fail' | 'Continue';
  readonly timeoutMs: number;
  readonly commands: readonly string[];
  /** Once per instance, or at every boot. */
  readonly frequency: 'Once' | 'Always';
  /** Variables of the environment of all entries. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables that name a file with the value of a secret. */
  readonly secrets?: Readonly<Record<string, SecretValue>>;
}
