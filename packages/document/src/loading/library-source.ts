import { type Diagnostic, sortDiagnostics } from '../diagnostics/index.ts';
import { MachineadmError } from '../outcomes/errors.ts';
import { type LoadedDocument, loadDocument } from './load.ts';
import type { Problem, Source } from './problem.ts';
import type { DocumentSource } from './source-tree.ts';

/** A document for the other entries of the library, or its problems. */
export async function loadFor(
  source: string | readonly Source[],
  agentVersion: string,
): Promise<
  { readonly document: LoadedDocument; readonly names: readonly string[] } | { readonly problems: readonly Problem[] }
> {
  const sources = sourcesOf(source);
  if (sources === undefined) {
    const message = 'there is no document: give its text, or a list of at least one {name, content}';
    return { problems: [{ code: 'InvalidType', file: 'document', line: 1, column: 1, path: '', message }] };
  }
  const names = sources.map(({ name }) => name);
  try {
    const result = await loadDocument(sources, { agentVersion });
    return result.ok ? { document: result.document, names } : { problems: result.problems.map(problemOf) };
  } catch (error) {
    // A source that is not text, or is too large.
    if (!(error instanceof MachineadmError)) throw error;
    return { problems: [problemOfError(error, 'SyntaxError', names[0])] };
  }
}

/** Warnings, in the order of the text. */
export function warningsOf({
  document,
  names,
}: {
  readonly document: LoadedDocument;
  readonly names: readonly string[];
}): readonly Problem[] {
  return sortDiagnostics([...document.warnings], names).map(problemOf);
}

/** An error about a document as a whole. */
export function problemOfError({ message, remedy: hint }: MachineadmError, code: string, file = 'document'): Problem {
  return { code, file, line: 1, column: 1, path: '', message, hint };
}

function problemOf({ code, place, path, message, hint }: Diagnostic): Problem {
  return { code, ...place, path, message, ...(hint === undefined ? {} : { hint }) };
}

/** Checks the arguments, because JavaScript callers may pass anything, and returns the sources for the loader. */
function sourcesOf(source: unknown): readonly DocumentSource[] | undefined {
  const given: unknown = typeof source === 'string' ? [{ name: 'document', content: source }] : source;
  if (!Array.isArray(given) || given.length === 0) return undefined;
  const sources = given.map((one: unknown) => {
    if (typeof one !== 'object' || one === null || !('name' in one) || !('content' in one)) return undefined;
    const { name, content } = one;
    if (typeof name !== 'string') return undefined;
    if (typeof content === 'string') return { name, bytes: new TextEncoder().encode(content) };
    return content instanceof Uint8Array ? { name, bytes: content } : undefined;
  });
  return sources.every((one) => one !== undefined) ? sources : undefined;
}
