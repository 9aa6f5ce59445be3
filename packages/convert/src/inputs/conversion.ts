import type { Role } from '@machineadm/document/model/index.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Report } from '../report/report.ts';
import type { Expressions } from '../texts/jinja.ts';
import type { NodeFiles } from './node-files.ts';
import type { SecretBook } from './secrets.ts';

/** What the caller can specify in addition to the input. */
export interface ConvertOptions {
  /** Of the machine, where the input does not determine it; of several documents, which to return. */
  readonly role?: Role | undefined;
  /** `v1.35.2`, where the input has none. */
  readonly kubernetesVersion?: string | undefined;
  /** For files with contentFormat Template; default: the version of the control plane in the input. */
  readonly controlPlaneVersion?: string | undefined;
  /** host:port of the API server. */
  readonly endpoint?: string | undefined;
  /** `sha256:<hex>` of the cluster's authority. */
  readonly caCertHashes?: readonly string[] | undefined;
  /** Write the values of Secrets in the input into the document, instead of references. */
  readonly inlineSecrets?: boolean | undefined;
  /** The directory on the machine for references to secrets. */
  readonly references?: string | undefined;
  /** The files of an existing node, which becomes a document beside those of the inputs. */
  readonly node?: NodeFiles | undefined;
  /** No controller of Cluster API exists: its taint would never be removed. */
  readonly standalone?: boolean | undefined;
  /** Convert well-known files and commands to structured fields of the document. */
  readonly structure?: boolean | undefined;
  /**
   * Objects of machineadm's own bootstrap provider instead of documents: MachineadmConfigTemplates of KubeadmConfigTemplates,
   * and MachineadmConfigs of the KubeadmConfigs of MachinePools.
   */
  readonly forProvider?: boolean | undefined;
}

/** Facts about the cluster and the machine from related objects. Everything may be absent. */
export interface RelatedFacts {
  readonly machine: {
    readonly name: string;
    readonly namespace: string | undefined;
    readonly uid: string | undefined;
    /** True: it is the name of a Machine, or of its own KubeadmConfig. */
    readonly isMachine: boolean;
  };
  /** True: the Cluster is in the input, and what it does not have is not set. */
  readonly hasCluster: boolean;
  readonly clusterName: string | undefined;
  readonly kubernetesVersion: string | undefined;
  readonly controlPlaneVersion: string | undefined;
  readonly endpoint: string | undefined;
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly dnsDomain: string | undefined;
  /** Kind of the infrastructure object, which identifies the provider: `AzureMachineTemplate`. */
  readonly infrastructure: string | undefined;
  /** True: a KubeadmControlPlane created the machine. */
  readonly ofControlPlane: boolean;
  /** What the object that creates the machines, or the Machine, makes of them. */
  readonly kind: 'control plane' | 'worker' | undefined;
  /** The configuration's namespace, for Secrets by name. */
  readonly namespace: string | undefined;
}

/** The shared state of the conversion of one document. */
export interface Conversion {
  readonly report: Report;
  readonly expressions: Expressions;
  readonly secrets: SecretBook;
  readonly options: ConvertOptions;
  readonly related: RelatedFacts;
  /** True: the provider has completed the configuration, so it takes precedence over related objects. */
  readonly resolved: boolean;
  readonly platform: NonNullable<HostSection['platform']>;
  /** `KubeadmConfig clusters/a`, for messages without a place of their own. */
  readonly object: string;
}
