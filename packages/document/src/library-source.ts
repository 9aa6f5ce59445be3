import { type Diagnostic, sortDiagnostics } from './diagnostics.ts';
import { MachineadmError } from './errors.ts';
import type { Problem, Source } from './library/problem.ts';
import { type LoadedDocument, loadDocument } from './load.ts';
import type { DocumentSource } from './source-tree.ts';

/** A document for the other entries of the library, or what is wrong with it. */
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
    // What cannot be read as text at all, or is too large.
    if (!(error instanceof MachineadmError)) throw error;
    return { problems: [problemOfError(error, 'SyntaxError', names[0])] };
  }
}

/** What is allowed but will hurt, in the order of the text. */
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

/** Checks, as a program in JavaScript can pass anything, and gives the sources as the loader takes them. */
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
