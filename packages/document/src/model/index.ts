import type { Platform } from '../fields/platform.ts';
import type { HostPartModels } from '../host-parts/index.ts';
import type { ContainerdModel } from '../sections/containerd/index.ts';
import type { HardeningModel } from '../sections/hardening.ts';
import type { ImagesModel } from '../sections/images.ts';
import type { KubernetesModel } from '../sections/kubernetes/index.ts';
import type { ReportingModel } from '../sections/reporting.ts';

export type { Platform } from '../fields/platform.ts';
export type { ActiveDirectoryModel, DirectoryLoginsModel, DomainCredentials } from '../host-parts/active-directory.ts';
export type { ApparmorModel } from '../host-parts/apparmor.ts';
export type { ArchiveModel } from '../host-parts/archives.ts';
export type { CertificateAuthorityModel } from '../host-parts/certificate-authorities.ts';
export type { DirectoryModel, RecursiveModel } from '../host-parts/directories.ts';
export type { FileContent } from '../host-parts/file-content.ts';
export type { FileModel } from '../host-parts/files.ts';
export type { GroupModel } from '../host-parts/groups.ts';
export type { HookGroup, HookRetry } from '../host-parts/hooks.ts';
export type { HostsModel } from '../host-parts/hosts.ts';
export type { Limit, LimitsModel } from '../host-parts/limits.ts';
export type { LinkModel } from '../host-parts/links.ts';
export type { NetworkModel, NetworkTool } from '../host-parts/network.ts';
export type { AbsentModel, AbsentNameModel } from '../host-parts/paths-of-host.ts';
export type { ProxyModel, ProxyUser } from '../host-parts/proxy.ts';
export type { SelinuxModel } from '../host-parts/selinux.ts';
export type { ServiceModel } from '../host-parts/services.ts';
export type * from '../host-parts/storage-model.ts';
export type { SysctlSetting } from '../host-parts/sysctl.ts';
export type { TimeModel } from '../host-parts/time.ts';
export type { SelectionModel } from '../host-parts/unpack.ts';
export type { UserModel } from '../host-parts/users.ts';
export type * from '../sections/api-server/admission.ts';
export type * from '../sections/api-server/audit.ts';
export type * from '../sections/api-server/authentication.ts';
export type * from '../sections/api-server/authorization.ts';
export type * from '../sections/api-server/connection.ts';
export type * from '../sections/api-server/encryption.ts';
export type * from '../sections/api-server/files.ts';
export type { ApiServerModel } from '../sections/api-server/index.ts';
export type * from '../sections/component.ts';
export type { ContainerdModel } from '../sections/containerd/index.ts';
export type { RegistryCapability, RegistryEndpoint, RegistryModel } from '../sections/containerd/registries.ts';
export type { RuntimeModel } from '../sections/containerd/runtimes.ts';
export type { TomlTable, TomlValue } from '../sections/containerd/toml.ts';
export type { HardeningException, HardeningModel } from '../sections/hardening.ts';
export type { HardeningProfile } from '../sections/hardening-controls.ts';
export type { ImageArchive, ImagesModel } from '../sections/images.ts';
export type * from '../sections/kubernetes/addons.ts';
export type * from '../sections/kubernetes/cluster.ts';
export type * from '../sections/kubernetes/control-plane.ts';
export type * from '../sections/kubernetes/exec.ts';
export type * from '../sections/kubernetes/index.ts';
export type * from '../sections/kubernetes/join.ts';
export type * from '../sections/kubernetes/kubeadm.ts';
export type * from '../sections/kubernetes/node.ts';
export type * from '../sections/kubernetes/pki.ts';
export type * from '../sections/kubernetes/retry.ts';
export type * from '../sections/kubernetes/timeouts.ts';
export type * from '../sections/reporting.ts';
export type * from '../sections/sinks/aws.ts';
export type * from '../sections/sinks/azure.ts';
export type { ExecSinkModel } from '../sections/sinks/exec.ts';
export type * from '../sections/sinks/gcp.ts';
export type * from '../sections/sinks/guestinfo.ts';
export type * from '../sections/sinks/index.ts';
export type { ClusterAccess, KubernetesSinkModel, NodeSinkModel } from '../sections/sinks/kubernetes.ts';
export type * from '../sections/sinks/local.ts';
export type * from '../sections/sinks/nats.ts';
export type * from '../sections/sinks/otlp.ts';
export type * from '../sections/sinks/sink.ts';
export type * from '../sections/sinks/webhook.ts';

/**
 * The agent's data model: every document version is converted to it, so that steps are independent of document
 * versions. Durations are milliseconds (`…Ms`), modes are numbers, defaults are filled in, and `undefined` means "not
 * requested".
 */
export interface Model {
  readonly metadata: Metadata;
  /** Set for a document that is applied to an image: it is another document than one of the same name on a machine. */
  readonly ofImage?: true;
  /** Whether a unit applies the document again at later boots; `provision` by hand always does. */
  readonly apply: 'Once' | 'EveryBoot';
  readonly host: HostModel;
  readonly containerd: ContainerdModel | undefined;
  readonly images: ImagesModel;
  readonly kubernetes: KubernetesModel | undefined;
  /** undefined = the document selects no benchmark. */
  readonly hardening: HardeningModel | undefined;
  readonly reporting: ReportingModel;
}

export interface HostModel extends HostPartModels {
  /** What the machine runs. */
  readonly platform: Platform;
  /** What to do if a change takes effect only after a reboot. */
  readonly rebootPolicy: 'Never' | 'IfRequired';
}

/** Identity of the machine in the management cluster, from the document. */
export interface Metadata {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly cluster: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}
