import type { SecretValue } from './secret.ts';
import type { Verbatim } from './verbatim.ts';

export interface ContainerdModel {
  /** Managed: the whole configuration is ours. Merge: what the document says is merged into what is there. */
  readonly mode: 'Managed' | 'Merge';
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly sandboxImage: string | undefined;
  /** undefined leaves containerd's own default, here and below. */
  readonly restrictOomScoreAdj: boolean | undefined;
  readonly snapshotter: string | undefined;
  readonly discardUnpackedLayers: boolean | undefined;
  /** Bytes; -1 = no limit. */
  readonly maxContainerLogLineSize: number | undefined;
  readonly cdi: { readonly enabled: boolean; readonly specDirectories: readonly string[] } | undefined;
  readonly cni: {
    readonly binaryDirectories: readonly string[];
    readonly configurationDirectory: string | undefined;
  };
  /** Where images and containers are kept. */
  readonly root: string | undefined;
  /** Where what a reboot empties is kept. */
  readonly state: string | undefined;
  readonly defaultRuntime: string | undefined;
  /** In the order of the document; `runc` is there even where the document does not name it. */
  readonly runtimes: readonly RuntimeModel[];
  readonly registries: readonly RegistryModel[];
  /** A TOML tree in the words of the containerd found; merged last. */
  readonly settings: TomlTable;
}

/** A runtime handler: what a RuntimeClass names. */
export interface RuntimeModel {
  readonly name: string;
  /** `io.containerd.runc.v2`: which shim runs it. */
  readonly type: string;
  /** The OCI runtime behind the shim of runc; undefined = the shim's own default. */
  readonly binary: string | undefined;
  /** True: its program may be installed later. */
  readonly optional: boolean;
  /** Absolute path of the shim, where it is not on containerd's PATH. */
  readonly path: string | undefined;
  /** Where the OCI runtime keeps its state. */
  readonly root: string | undefined;
  readonly podAnnotations: readonly string[];
  readonly containerAnnotations: readonly string[];
  readonly privilegedWithoutHostDevices: boolean | undefined;
  /** Path of an OCI runtime specification that containers begin with. */
  readonly baseSpec: string | undefined;
  readonly snapshotter: string | undefined;
  /** Further options of the shim, in its own words. */
  readonly options: TomlTable;
}

/** Where the images of one registry name come from. */
export interface RegistryModel {
  /** As image names begin: `docker.io`, `registry.example:5000`; `_default` = every one without an entry. */
  readonly host: string;
  /** The registry itself, asked after the mirrors; its url is undefined where its name says it. */
  readonly server: RegistryEndpoint;
  /** False: only the mirrors are asked. */
  readonly fallback: boolean;
  /** In the order in which they are tried. */
  readonly mirrors: readonly (RegistryEndpoint & { readonly url: string })[];
  /** An image whose pull proves the whole. */
  readonly verify: string | undefined;
}

export type RegistryCapability = 'pull' | 'resolve' | 'push' | 'referrers';

export interface RegistryEndpoint {
  readonly url: string | undefined;
  /** Empty = containerd's default, all of them. */
  readonly capabilities: readonly RegistryCapability[];
  readonly ca:
    | { readonly kind: 'pem'; readonly pem: string }
    | { readonly kind: 'file'; readonly path: string }
    | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
  readonly skipVerify: boolean;
  /** True: the API begins at the path of the URL, and not at `/v2` below it. */
  readonly overridePath: boolean;
  readonly dialTimeoutMs: number | undefined;
  readonly headers: Readonly<Record<string, SecretValue>>;
  readonly credentials: { readonly username: SecretValue; readonly password: SecretValue } | undefined;
}

export type TomlValue = string | number | boolean | Verbatim | readonly TomlValue[] | TomlTable;
export interface TomlTable {
  readonly [key: string]: TomlValue;
}
