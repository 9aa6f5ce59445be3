import { convert as convertTexts } from './index.ts';

/**
 * The converter for programs of others: `import … from 'machineadm/convert'`. Its types name nothing of another file, and stay
 * when the inside changes.
 */

export type MachineRole = 'InitControlPlane' | 'JoinControlPlane' | 'Worker';

/** An input: objects of the Kubernetes API as YAML or JSON, or the user data that a bootstrap provider made. */
export interface Input {
  readonly name: string;
  readonly text: string;
}

/** What the caller knows and the input does not say. */
export interface Options {
  readonly role?: MachineRole;
  /** `v1.35.2` */
  readonly kubernetesVersion?: string;
  /** host:port of the API server. */
  readonly endpoint?: string;
  /** `sha256:<hex>` of the cluster's authority. */
  readonly caCertHashes?: readonly string[];
  /** Values of Secrets beside the input become values in the document, instead of references. */
  readonly inlineSecrets?: boolean;
  /** Lift well-known files and commands into structured parts of the document. */
  readonly structure?: boolean;
}

export interface Converted {
  /** Empty where an error forbids it. */
  readonly documents: readonly {
    /** Absent for one that prepares a host only. */
    readonly role?: MachineRole;
    readonly name: string;
    readonly yaml: string;
    /** True: it holds values of secrets. */
    readonly holdsSecrets: boolean;
  }[];
  /** What was decided, and what the caller must: one of severity `decision` is nobody's but a person's. */
  readonly decisions: readonly {
    /** A stable word, as docs/convert.md lists them. */
    readonly code: string;
    readonly severity: 'note' | 'warning' | 'decision' | 'error';
    /** Where in the input. */
    readonly at: string;
    readonly message: string;
  }[];
}

/**
 * Converts what Cluster API's kubeadm bootstrap provider reads (KubeadmConfig, KubeadmControlPlane, Templates of them), or
 * what it makes, to documents; several inputs are looked at together. Never throws for what is in them.
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
