import type { Diagnostic } from '@machineadm/document/diagnostics/index.ts';
import { exactly } from '@machineadm/document/values/verbatim.ts';
import { examined, QUIET_AND_LINEAR } from '@machineadm/document/yaml/foreign-yaml.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import type { Document, LineCounter, ParsedNode, parseDocument } from 'yaml';
import type { Placed, Report } from '../report/report.ts';

/** Up to this length the library's error handling (one error object per mistake) is fast enough. */
const HARMLESS_LENGTH = 64 * 1024;

/** Who reads the text today: both read YAML 1.1, and only PyYAML reads `1:30` as a number of base 60. */
type Reader = 'Go' | 'PyYAML';

/** Dates stay text. Places of errors are printed: longer texts with errors do not come so far. */
function options(reader: Reader) {
  const customTags: ParseOptions['customTags'] = (tags) =>
    tags.filter(
      (tag) =>
        typeof tag === 'string' ||
        (tag.tag !== 'tag:yaml.org,2002:timestamp' && (reader === 'PyYAML' || tag.format !== 'TIME')),
    );
  return { version: '1.1', ...QUIET_AND_LINEAR, prettyErrors: true, customTags } as const;
}

type ParseOptions = NonNullable<Parameters<typeof parseDocument>[1]>;

/**
 * The value of a YAML text of the input; undefined where it cannot be parsed, which is reported. The text is never
 * printed: it may be a secret. The parser also refuses documents of nested aliases.
 *
 * @param reader Go: sigs.k8s.io/yaml, as of kubectl and kubeadm; PyYAML: cloud-init
 */
export async function yamlValue(
  text: string,
  at: Placed | string,
  report: Report,
  reader: Reader = 'Go',
): Promise<unknown> {
  if (refuseHostile(text, at, report) !== undefined) return undefined;
  const { LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const document = parsed(() => parseDocument(text, { ...options(reader), lineCounter }), at, report);
  if (document === undefined) return undefined;
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    report.add('InputInvalid', at, `not YAML: ${yamlMistake(mistake)} in line ${mistake.linePos?.[0].line ?? '?'}`);
    return undefined;
  }
  return await plain(document, at, report, lineCounter);
}

/** What is wrong in a text, without its line, which may be a secret: `bad indent`. */
export function yamlMistake({ code }: { readonly code: string }): string {
  return code.toLowerCase().replaceAll('_', ' ');
}

/** A document of comments only, or of nothing: kubectl skips it. */
export function isEmptyDocument({ contents, errors }: Document.Parsed<ParsedNode>): boolean {
  return errors.length === 0 && (contents === null || ('value' in contents && contents.value === null));
}

/** The documents of a text; none if it is refused. Duplicate keys are reported. */
export async function yamlDocuments(
  text: string,
  at: Placed | string,
  report: Report,
): Promise<readonly Document.Parsed<ParsedNode>[]> {
  const pieces = text.split(/^(?=---(?:\s|$))/m);
  let line = 0;
  for (const piece of pieces) {
    const problems = refuseHostile(piece, at, report, line);
    if (problems !== undefined) return [];
    line += piece.split('\n').length - 1;
  }
  const { parseAllDocuments } = await import('yaml');
  const documents = parsed(() => parseAllDocuments(text, options('Go')), at, report);
  return Array.isArray(documents) ? documents : [];
}

/** The library's parser uses the stack for each level of nesting. */
function parsed<Result>(parse: () => Result, at: Placed | string, report: Report): Result | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report.add('InputInvalid', at, 'not YAML: nested too deeply');
    return undefined;
  }
}

/** Reports duplicate keys, and a long text that is not YAML, which is then not parsed any further. */
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

/**
 * The value of a parsed document. A number that JavaScript would change is kept verbatim.
 *
 * @param lines reports duplicate keys by their lines; without it nothing does
 */
export async function plain(
  document: Document,
  at: Placed | string,
  report: Report,
  lines?: LineCounter,
): Promise<unknown> {
  const { costly, repeatedKeys } = await examined(document);
  if (lines !== undefined) {
    for (const offset of repeatedKeys)
      report.add('KeyRepeated', at, `in line ${lines.linePos(offset).line}: remove one of the two`);
  }
  if (costly !== undefined) {
    report.add('InputInvalid', at, `YAML with ${costly}`);
    return undefined;
  }
  const { visit } = await import('yaml');
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === 'number' && DECIMAL.test(scalar.source ?? '')) {
        scalar.value = exactly(scalar.source ?? '', scalar.value);
      }
    },
  });
  try {
    const value: unknown = document.toJS();
    if (!isWithinItself(value)) return value;
    report.add('InputInvalid', at, 'not YAML: an alias within its own anchor');
  } catch {
    report.add('InputInvalid', at, 'not YAML: an alias without its anchor, or too many of them');
  }
  return undefined;
}

/** Whether a value contains itself, as `&a [*a]`. Each part is looked at once. */
function isWithinItself(value: unknown): boolean {
  const done = new Set<object>();
  const open = new Set<object>();
  const visit = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null || done.has(part)) return false;
    if (open.has(part)) return true;
    open.add(part);
    const isFound = Object.values(part).some(visit);
    open.delete(part);
    done.add(part);
    return isFound;
  };
  return visit(value);
}

/** A number that YAML 1.1 and 1.2 parse alike. */
const DECIMAL = /^[-+]?(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?$/;
