import type { HostPartModels } from './host-parts/index.ts';
import type { StorageModel } from './model-storage.ts';
import type { SecretValue } from './secret.ts';

export type { CertificateAuthorityModel } from './host-parts/certificate-authorities.ts';
export type { GroupModel } from './host-parts/groups.ts';
export type { Limit, LimitsModel } from './host-parts/limits.ts';
export type { ProxyModel, ProxyUser } from './host-parts/proxy.ts';
export type { ServiceModel } from './host-parts/services.ts';
export type { SysctlSetting } from './host-parts/sysctl.ts';
export type { TimeModel } from './host-parts/time.ts';
export type { UserModel } from './host-parts/users.ts';

/** The operating systems that a document can be for. */
export type Platform = 'linux' | 'windows';

export interface HostModel extends HostPartModels {
  /** What the machine runs. */
  readonly platform: Platform;
  /** What is done where a change holds only behind a reboot. */
  readonly rebootPolicy: 'Never' | 'IfRequired';
  readonly storage: StorageModel;
  readonly files: readonly FileModel[];
  readonly hooks: {
    readonly early: HookGroup | undefined;
    readonly beforeBootstrap: HookGroup | undefined;
    readonly afterBootstrap: HookGroup | undefined;
  };
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
