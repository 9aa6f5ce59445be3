import type { Placed } from '../report/report.ts';
import type { Source } from '../values/source.ts';
import type { DirectSection } from './direct.ts';

/**
 * A machine's specification in Cluster API's terms, whichever form it had: KubeadmConfigSpec v1beta1 or v1beta2, or the
 * provider's cloud-config or Ignition config.
 */
export interface Spec {
  readonly flavour: 'cloud-config' | 'ignition';
  /** True: the provider has completed it already. */
  readonly resolved: boolean;
  readonly files: readonly FileSpec[];
  readonly users: readonly UserSpec[];
  readonly groups: readonly GroupSpec[];
  /** The name that cloud-init gives the machine. */
  readonly hostname?: string | undefined;
  readonly time: TimeSpec | undefined;
  readonly disks: readonly DiskSpec[];
  readonly filesystems: readonly FilesystemSpec[];
  readonly mounts: readonly MountSpec[];
  readonly bootCommands: readonly CommandSpec[];
  readonly beforeCommands: readonly CommandSpec[];
  readonly afterCommands: readonly CommandSpec[];
  readonly services: readonly ServiceSpec[];
  readonly direct?: DirectSection | undefined;
  /** Fields of the kubelet's configuration that are the machine's own. */
  readonly kubeletConfig?: Readonly<Record<string, unknown>> | undefined;
  readonly verbosity: Source;
  /** The path of the success sentinel in user data; undefined for Cluster API's standard path. */
  readonly sentinel: string | undefined;
  /** ClusterConfiguration, InitConfiguration and JoinConfiguration; sources without a value if missing. */
  readonly cluster: Source;
  readonly init: Source;
  readonly join: Source;
  /** Configurations of the kubelet and of kube-proxy beside kubeadm's own. */
  readonly extraDocuments: readonly Source[];
  /** The discovery kubeconfig that the provider wrote. */
  readonly discoveryKubeconfig: Source | undefined;
  /** PEM texts of the cluster's authorities, by the provider's path. */
  readonly certificates: ReadonlyMap<string, FileSpec>;
}

/** A host about which an input says nothing. */
export const EMPTY_HOST = {
  flavour: 'cloud-config',
  files: [],
  users: [],
  groups: [],
  time: undefined,
  disks: [],
  filesystems: [],
  mounts: [],
  bootCommands: [],
  beforeCommands: [],
  afterCommands: [],
  services: [],
  sentinel: undefined,
  discoveryKubeconfig: undefined,
  certificates: new Map<string, FileSpec>(),
} as const satisfies Partial<Spec>;

export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

export interface FileSpec {
  readonly path: string;
  readonly owner: string | undefined;
  readonly permissions: string | undefined;
  readonly encoding: string | undefined;
  readonly append: boolean;
  readonly content: string;
  /** Instead of `content`. */
  readonly secret: SecretKey | undefined;
  /** True: the machine reads the content from a file that somebody else provides. */
  readonly isReference?: boolean | undefined;
  /** True: the Secret's content is a Go template; `content` is rendered already. */
  readonly template: boolean;
  /** Owner and mode in the input, where the document's field has its own. */
  readonly rights: readonly Source[];
  readonly at: Source;
}

export interface UserSpec {
  readonly name: string;
  readonly gecos: string | undefined;
  /** As written: names separated by commas. */
  readonly groups: string | undefined;
  readonly home: string | undefined;
  readonly shell: string | undefined;
  readonly primaryGroup: string | undefined;
  readonly password: string | undefined;
  readonly passwordSecret: SecretKey | undefined;
  readonly lockPassword: boolean | undefined;
  readonly sudo: readonly string[];
  readonly keys: readonly string[] | undefined;
  readonly inactive: boolean;
  readonly uid?: number | undefined;
  readonly system?: boolean | undefined;
  readonly at: Placed;
}

export interface GroupSpec {
  readonly name: string;
  readonly gid?: number | undefined;
  readonly at: Placed;
}

export interface TimeSpec {
  readonly enabled: boolean;
  readonly servers: readonly string[];
  readonly at: Placed;
}

export interface DiskSpec {
  readonly device: string;
  readonly table: string | undefined;
  readonly overwrite: boolean;
  /** true: one partition; false: none; else percentages. */
  readonly layout: boolean | readonly { readonly percentage: number; readonly type: string | undefined }[];
  readonly at: Placed;
}

export interface FilesystemSpec {
  readonly device: string;
  readonly type: string;
  readonly label: string | undefined;
  readonly partition: string | undefined;
  readonly overwrite: boolean;
  readonly replace: string | undefined;
  readonly options: readonly string[];
  readonly at: Placed;
}

export interface MountSpec {
  /** Columns of fstab(5) from the left; missing ones are defaults. */
  readonly columns: readonly string[];
  /** Of a swap file that is to be created, with its unit. */
  readonly size?: string;
  readonly at: Placed;
}

export interface CommandSpec {
  readonly command: string;
  readonly at: Placed;
}

export interface ServiceSpec {
  readonly name: string;
  readonly enabled: boolean | undefined;
  readonly masked: boolean | undefined;
  readonly dropIns: readonly { readonly name: string; readonly content: string }[];
  readonly at: Placed;
}
