import type { Platform } from '../fields/platform.ts';
import type { HostPartModels } from '../host-parts/index.ts';

export type { Platform } from '../fields/platform.ts';
export type { ApparmorModel } from '../host-parts/apparmor.ts';
export type { ArchiveModel } from '../host-parts/archives.ts';
export type { CertificateAuthorityModel } from '../host-parts/certificate-authorities.ts';
export type { DirectoryModel, RecursiveModel } from '../host-parts/directories.ts';
export type { FileContent } from '../host-parts/file-content.ts';
export type { FileModel } from '../host-parts/files.ts';
export type { GroupModel } from '../host-parts/groups.ts';
export type { HookRetry } from '../host-parts/hook-retry.ts';
export type { HookGroup } from '../host-parts/hooks.ts';
export type { HostsModel } from '../host-parts/hosts.ts';
export type { Limit, LimitsModel } from '../host-parts/limits.ts';
export type { LinkModel } from '../host-parts/links.ts';
export type { NetworkModel, NetworkTool } from '../host-parts/network.ts';
export type { AbsentModel, AbsentNameModel } from '../host-parts/paths-of-host.ts';
export type { ProxyModel, ProxyUser } from '../host-parts/proxy.ts';
export type { SelinuxModel } from '../host-parts/selinux.ts';
export type { ServiceModel } from '../host-parts/services.ts';
export type { SysctlSetting } from '../host-parts/sysctl.ts';
export type { TimeModel } from '../host-parts/time.ts';
export type { SelectionModel } from '../host-parts/unpack.ts';
export type { UserModel } from '../host-parts/users.ts';

export interface HostModel extends HostPartModels {
  /** What the machine runs. */
  readonly platform: Platform;
  /** What to do if a change takes effect only after a reboot. */
  readonly rebootPolicy: 'Never' | 'IfRequired';
}
