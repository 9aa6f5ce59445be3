import type { Role } from '@machineadm/document/model.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Expressions } from './jinja.ts';
import type { Report } from './report.ts';
import type { SecretBook } from './secrets.ts';

/** What the caller may say beside the input. */
export interface ConvertOptions {
  /** Of the machine, where the input leaves it open; with a control plane, the one document that is wanted. */
  readonly role?: Role | undefined;
  /** `v1.35.2`, where the input has none, or another one. */
  readonly kubernetesVersion?: string | undefined;
  /** For files with contentFormat Template; default: the version of the control plane in the input. */
  readonly controlPlaneVersion?: string | undefined;
  /** host:port of the API server. */
  readonly endpoint?: string | undefined;
  /** `sha256:<hex>` of the cluster's authority. */
  readonly caCertHashes?: readonly string[] | undefined;
  /** Values of Secrets beside the input become values in the document, instead of references. */
  readonly inlineSecrets?: boolean | undefined;
  /** The directory on the machine in which references are looked for. */
  readonly references?: string | undefined;
  /** No controller of Cluster API is there: its taint would stay for ever. */
  readonly standalone?: boolean | undefined;
  /** Lift well-known files and commands into structured parts of the document. */
  readonly structure?: boolean | undefined;
}

/** What is known of the cluster and the machine from objects beside the input. Everything may be absent. */
export interface Surroundings {
  readonly machine: {
    readonly name: string;
    readonly namespace: string | undefined;
    readonly uid: string | undefined;
    /** True: it is the name of a Machine, or of its own KubeadmConfig. */
    readonly isMachine: boolean;
  };
  readonly clusterName: string | undefined;
  readonly kubernetesVersion: string | undefined;
  readonly controlPlaneVersion: string | undefined;
  readonly endpoint: string | undefined;
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly dnsDomain: string | undefined;
  /** Kind of the infrastructure object, which names the provider: `AzureMachineTemplate`. */
  readonly infrastructure: string | undefined;
  /** True: a KubeadmControlPlane made the machine. */
  readonly ofControlPlane: boolean;
  /** Where the configuration lies, for Secrets by name. */
  readonly namespace: string | undefined;
}

/** What every part of the conversion of one document needs. */
export interface Conversion {
  readonly report: Report;
  readonly expressions: Expressions;
  readonly secrets: SecretBook;
  readonly options: ConvertOptions;
  readonly surroundings: Surroundings;
  /** True: the provider has filled everything in already, so that the configuration wins over the objects beside it. */
  readonly resolved: boolean;
  readonly platform: NonNullable<HostSection['platform']>;
  /** `KubeadmConfig clusters/a`, for what has no place of its own. */
  readonly object: string;
}
