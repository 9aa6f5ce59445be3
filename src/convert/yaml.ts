import type { Document, ParsedNode } from 'yaml';
import type { Diagnostic } from '../document/diagnostics.ts';
import { parseYaml } from '../document/yaml/parse.ts';
import type { Placed, Report } from './report.ts';

/** Of a text of this length the library's way with mistakes (one error object for each) costs nobody anything. */
const HARMLESS_LENGTH = 64 * 1024;

type Version = '1.1' | '1.2';

/**
 * The value of a YAML text of the input; undefined where it has none, which is reported. The text is never shown: it may be
 * a secret. A document that is made of nothing but aliases of aliases is refused by the parser, too.
 *
 * @param version 1.1 for what Go's sigs.k8s.io/yaml and cloud-init's PyYAML read
 */
export async function yamlValue(
  text: string,
  at: Placed | string,
  report: Report,
  version: Version = '1.1',
): Promise<unknown> {
  if (refuseHostile(text, at, report) !== undefined) return undefined;
  const { parseDocument } = await import('yaml');
  const document = parsed(() => parseDocument(text, { version, uniqueKeys: false }), at, report);
  if (document === undefined) return undefined;
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    report.add('InputInvalid', at, `not YAML: ${mistake.code} in line ${mistake.linePos?.[0].line ?? '?'}`);
    return undefined;
  }
  return plain(() => document.toJS(), at, report);
}

/** The documents of a text; none of one that is refused. A key that is given twice is reported. */
export async function yamlDocuments(
  text: string,
  at: Placed | string,
  report: Report,
  version: Version = '1.2',
): Promise<readonly Document.Parsed<ParsedNode>[]> {
  const pieces = text.split(/^(?=---(?:\s|$))/m);
  let line = 0;
  for (const piece of pieces) {
    const problems = refuseHostile(piece, at, report, line);
    if (problems !== undefined) return [];
    line += piece.split('\n').length - 1;
  }
  const { parseAllDocuments } = await import('yaml');
  // The library looks for equal keys in the square of their number; ours are found above.
  const documents = parsed(() => parseAllDocuments(text, { version, uniqueKeys: false }), at, report);
  return Array.isArray(documents) ? documents : [];
}

/** The library's parser takes a part of the stack for each level that a text nests. */
function parsed<Result>(parse: () => Result, at: Placed | string, report: Report): Result | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report.add('InputInvalid', at, 'not YAML: nested too deeply');
    return undefined;
  }
}

/** Reports keys that are given twice, and a long text that is not YAML, which is then not parsed any further. */
function refuseHostile(text: string, at: Placed | string, report: Report, lines?: number): Diagnostic | undefined {
  const problems: Diagnostic[] = [];
  const tree = parseYaml('', text, problems);
  const [problem] = problems;
  if (problem === undefined) return undefined;
  const where = `in line ${problem.place.line + (lines ?? 0)}`;
  if (tree !== undefined && lines !== undefined) report.add('InputInvalid', at, `${problem.message} ${where}`);
  if (tree !== undefined || text.length <= HARMLESS_LENGTH) return undefined;
  report.add('InputInvalid', at, `${problem.message} ${where}`);
  return problem;
}

/** What turns a parsed document into values may still refuse it. */
export function plain(value: () => unknown, at: Placed | string, report: Report): unknown {
  try {
    return value();
  } catch {
    report.add('InputInvalid', at, 'not YAML: an alias without its anchor, or too many of them');
    return undefined;
  }
}
