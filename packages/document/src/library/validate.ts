import manifest from '../../package.json' with { type: 'json' };
import { loadFor, warningsOf } from '../loading/library-source.ts';
import type { Problem, Source } from '../loading/problem.ts';

export type Validation =
  | {
      readonly valid: true;
      readonly apiVersion: string;
      /** Hex SHA-256 of the merged document in a canonical form, as in machineadm's status. */
      readonly sha256: string;
      readonly warnings: readonly Problem[];
      /** Paths whose value depends on a variable of the machine: not checked here. */
      readonly unresolved: readonly string[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/**
 * Validates a document like `machineadm validate`, except for its hardening profiles. Reports all problems at once.
 * Never throws because of the document.
 *
 * @param agentVersion of the machineadm on the machine, for the document's `requires`; by default that of the library
 */
export async function validateDocument(
  source: string | readonly Source[],
  { agentVersion = manifest.version }: { readonly agentVersion?: string } = {},
): Promise<Validation> {
  const loaded = await loadFor(source, agentVersion);
  if ('problems' in loaded) return { valid: false, problems: loaded.problems };
  const { apiVersion, digest: sha256, unresolved } = loaded.document;
  return { valid: true, apiVersion, sha256, warnings: warningsOf(loaded), unresolved };
}
