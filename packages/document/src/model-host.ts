import type { HostPartModels } from './host-parts/index.ts';
import type { Platform } from './host-parts/part.ts';
import type { StorageModel } from './model-storage.ts';
import type { SecretValue } from './secret.ts';

export type { CertificateAuthorityModel } from './host-parts/certificate-authorities.ts';
export type { FileContent, FileModel } from './host-parts/files.ts';
export type { GroupModel } from './host-parts/groups.ts';
export type { Limit, LimitsModel } from './host-parts/limits.ts';
export type { Platform } from './host-parts/part.ts';
export type { ProxyModel, ProxyUser } from './host-parts/proxy.ts';
export type { ServiceModel } from './host-parts/services.ts';
export type { SysctlSetting } from './host-parts/sysctl.ts';
export type { TimeModel } from './host-parts/time.ts';
export type { UserModel } from './host-parts/users.ts';

export interface HostModel extends HostPartModels {
  /** What the machine runs. */
  readonly platform: Platform;
  /** What is done where a change holds only behind a reboot. */
  readonly rebootPolicy: 'Never' | 'IfRequired';
  readonly storage: StorageModel;
  readonly hooks: {
    readonly early: HookGroup | undefined;
    readonly beforeBootstrap: HookGroup | undefined;
    readonly afterBootstrap: HookGroup | undefined;
  };
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
