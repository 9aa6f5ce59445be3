import { type Diagnostic, sortDiagnostics } from './diagnostics.ts';
import { MachineadmError } from './errors.ts';
import { exampleDocument } from './example.ts';
import { jsonSchema as schemaOf } from './json-schema.ts';
import { loadDocument } from './load.ts';
import { DOCUMENT_VERSIONS } from './versions/index.ts';

/**
 * The document for programs of others: `import … from 'machineadm/document'`. It runs wherever the web's own interfaces are: in a
 * browser, a controller, an editor. Its types name nothing of another package, and stay when the inside changes.
 */

/** A mistake, or what is allowed but will hurt. */
export interface Problem {
  /** What kind of problem it is. A kind is never renamed; new ones may come. */
  readonly code: string;
  /** Name of the source, as it was given. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `host.files[2].mode`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}

export type Validation =
  | {
      readonly valid: true;
      readonly apiVersion: string;
      /** Hex SHA-256 of the merged document in a canonical form, as machineadm's status tells it. */
      readonly sha256: string;
      readonly warnings: readonly Problem[];
      /** Paths whose value depends on a variable that only the machine knows: not judged here. */
      readonly unresolved: readonly string[];
    }
  | { readonly valid: false; readonly problems: readonly Problem[] };

/** One of the texts that a document is merged from. */
export interface Source {
  readonly name: string;
  /** YAML or JSON, plain or as gzip, base64 or both. */
  readonly content: string | Uint8Array;
}

/**
 * Judges a document as `machineadm validate` does, but for what its hardening profiles bring with them. All mistakes are
 * told at once. Never throws for what is in the document.
 *
 * @param agentVersion of the machineadm on the machine, for the document's `requires`
 */
export async function validateDocument(
  source: string | readonly Source[],
  options: { readonly agentVersion: string },
): Promise<Validation> {
  const sources = typeof source === 'string' ? [{ name: 'document', content: source }] : source;
  try {
    const result = await loadDocument(
      sources.map(({ name, content }) => ({
        name,
        bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
      })),
      { agentVersion: options.agentVersion },
    );
    if (!result.ok) return { valid: false, problems: result.problems.map(problemOf) };
    const { apiVersion, digest: sha256, warnings, unresolved } = result.document;
    const names = sources.map(({ name }) => name);
    return {
      valid: true,
      apiVersion,
      sha256,
      warnings: sortDiagnostics([...warnings], names).map(problemOf),
      unresolved,
    };
  } catch (error) {
    // What cannot be read as text at all, or is too large.
    if (!(error instanceof MachineadmError)) throw error;
    const file = sources[0]?.name ?? 'document';
    return {
      valid: false,
      problems: [
        { code: 'SyntaxError', file, line: 1, column: 1, path: '', message: error.message, hint: error.remedy },
      ],
    };
  }
}

/** The document versions that are read, the newest last: `machineadm.dev/v1alpha1`. */
export const apiVersions: readonly string[] = DOCUMENT_VERSIONS.map(({ apiVersion }) => apiVersion);

/** The JSON Schema (draft 2020-12) of a document version, by default the newest. Throws a RangeError for one that is not read. */
export function jsonSchema(apiVersion?: string): Readonly<Record<string, unknown>> {
  const schema = schemaOf(apiVersion);
  if (schema === undefined) throw new RangeError(`${apiVersion} is none of ${apiVersions.join(', ')}`);
  return schema;
}

/** An annotated document to start from, valid as it is. */
export function example(role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker'): string {
  return exampleDocument(role);
}

function problemOf({ code, place, path, message, hint }: Diagnostic): Problem {
  return { code, ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}
