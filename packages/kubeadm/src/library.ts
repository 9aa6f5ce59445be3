import { loadFor, problemOfError, warningsOf } from '@machineadm/document/loading/library-source.ts';
import type { Problem } from '@machineadm/document/loading/problem.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from './index.ts';
import { fieldsOfMachine } from './unresolved.ts';

/**
 * kubeadm's configuration for other programs: `import … from 'machineadm/render'`. Its types depend on no other package, and
 * stay the same when the implementation changes.
 */

export interface RenderOptions {
  /** Of the machineadm on the machine, for the document's `requires`. */
  readonly agentVersion: string;
  /** `v1.35.2`; by default the document's `kubernetes.version`. */
  readonly kubeadmVersion?: string;
}

export type Rendering =
  | {
      readonly valid: true;
      readonly command: 'init' | 'join';
      /** Of `kubeadm COMMAND --config FILE`, as YAML; what refers to `secrets` is `[redacted]`. */
      readonly config: string;
      /** Arguments beside `--config`. */
      readonly flags: readonly string[];
      /** Files that kubeadm reads beside its configuration. */
      readonly files: readonly { readonly path: string; readonly content: string }[];
      readonly warnings: readonly Problem[];
      /** Paths of the document whose value only the machine knows: the configuration lacks them. */
      readonly unresolved: readonly string[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/**
 * Renders what machineadm hands to kubeadm, as `machineadm render kubeadm` does. Never throws for what is in the
 * document, nor for what this kubeadm cannot express. A document with hardening profiles is refused: they change the
 * configuration, and are not part of the library.
 */
export async function renderKubeadmConfig(document: string, options: RenderOptions): Promise<Rendering> {
  const loaded = await loadFor(document, options.agentVersion);
  if ('problems' in loaded) return { valid: false, problems: loaded.problems };
  const { model } = loaded.document;
  try {
    if (model.kubernetes === undefined) throw refusal('the document has no "kubernetes" section', 'Add one.');
    if (model.hardening !== undefined) {
      throw refusal('hardening profiles are not part of the library', 'Run machineadm render kubeadm.');
    }
    const version = options.kubeadmVersion ?? model.kubernetes.version;
    const kubeadm = parseVersion(version);
    if (kubeadm === undefined) throw refusal(`"${version}" is not a version`, 'Give one like v1.35.2.');
    const { command, text, flags, files } = renderKubeadm({
      kubernetes: model.kubernetes,
      kubeadm,
      secrets: () => '[redacted]',
      nodeName: model.host.hostname,
      cgroupDriver: model.containerd?.cgroupDriver,
    });
    const written = files.map(({ path, content }) => ({ path, content: String(content) }));
    const warnings = warningsOf(loaded);
    return {
      valid: true,
      command,
      config: text,
      flags,
      files: written,
      warnings,
      unresolved: fieldsOfMachine(loaded.document),
    };
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { valid: false, problems: [problemOfError(error, error.reason)] };
  }
}

function refusal(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'NotExpressible', summary, remedy });
}
