import { convert as convertTexts } from './index.ts';

/** The public module `machineadm/convert`. Its types refer to no internal type, so that they stay stable. */

export type MachineRole = 'InitControlPlane' | 'JoinControlPlane' | 'Worker';

/** An input: objects of the Kubernetes API as YAML or JSON, or the user data of a bootstrap provider. */
export interface Input {
  readonly name: string;
  readonly text: string;
}

/** What the caller knows and the input does not contain. */
export interface Options {
  readonly role?: MachineRole;
  /** `v1.35.2` */
  readonly kubernetesVersion?: string;
  /** host:port of the API server. */
  readonly endpoint?: string;
  /** `sha256:<hex>` of the cluster's authority. */
  readonly caCertHashes?: readonly string[];
  /** Write the values of Secrets in the input into the document, instead of references. */
  readonly inlineSecrets?: boolean;
  /** Convert well-known files and commands to structured fields of the document. */
  readonly structure?: boolean;
}

export interface Converted {
  /** Empty where an error forbids it. */
  readonly documents: readonly {
    /** Absent for one that only prepares a host. */
    readonly role?: MachineRole;
    readonly name: string;
    readonly yaml: string;
    /** True: it contains values of secrets. */
    readonly holdsSecrets: boolean;
  }[];
  /** A decision of the converter, or one that it needs: severity `decision` requires the user's. */
  readonly decisions: readonly {
    /** A stable code, as listed in docs/convert.md. */
    readonly code: string;
    readonly severity: 'note' | 'warning' | 'decision' | 'error';
    /** The place in the input. */
    readonly at: string;
    readonly message: string;
  }[];
}

/**
 * Converts the input of Cluster API's kubeadm bootstrap provider (KubeadmConfig, KubeadmControlPlane, their templates),
 * or its output, to documents; several inputs are converted together. Never throws because of the input.
 */
export async function convert(inputs: readonly Input[], options: Options = {}): Promise<Converted> {
  const { documents, decisions } = await convertTexts(inputs, options);
  return {
    documents: documents.map(({ role, name, yaml, holdsSecrets }) => ({
      ...(role === undefined ? {} : { role }),
      name,
      yaml,
      holdsSecrets,
    })),
    decisions,
  };
}
