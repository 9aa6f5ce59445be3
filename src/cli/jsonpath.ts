import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { usageError } from './usage-error.ts';

/**
 * kubectl's JSONPath templates (kubernetes.io/docs/reference/kubectl/jsonpath): text with expressions in braces, of
 * fields, indexes, slices of all (`[*]`), `..name`, filters by one comparison, and `range … end`. As with kubectl,
 * missing values are left out and objects are printed as JSON. Throws `UsageInvalid` for other syntax.
 */
export function evaluateJsonPath(template: string, data: unknown): string {
  const pieces = parse(/[{}]/.test(template) ? template : `{${template}}`);
  return render(pieces, data, data);
}

type Piece =
  | { readonly text: string }
  | { readonly path: string }
  | { readonly range: string; readonly body: readonly Piece[] };

function parse(template: string): readonly Piece[] {
  const open: { range: string; body: Piece[] }[] = [{ range: '', body: [] }];
  const current = (): Piece[] => open.at(-1)?.body ?? [];
  let rest = template;
  while (rest !== '') {
    const [whole, text, expression] =
      /^(?:([^{]+)|\{((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^}"'])*)\})/s.exec(rest) ?? [];
    if (whole === undefined) throw invalid(template, 'a brace is not closed');
    rest = rest.slice(whole.length);
    const word = expression?.trim() ?? '';
    const literal = /^(["'])(.*)\1$/s.exec(word)?.[2];
    if (text !== undefined) current().push({ text });
    else if (literal !== undefined) current().push({ text: unescaped(literal) });
    else if (word === 'end') {
      const closed = open.length > 1 ? open.pop() : undefined;
      if (closed === undefined) throw invalid(template, '{end} without {range}');
      current().push(closed);
    } else if (/^range\s/.test(word)) open.push({ range: word.slice('range'.length).trim(), body: [] });
    else current().push({ path: word });
  }
  if (open.length > 1) throw invalid(template, '{range} without {end}');
  return current();
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, letter: string) => ({ n: '\n', t: '\t', r: '\r' })[letter] ?? letter);
}

function render(pieces: readonly Piece[], root: unknown, here: unknown): string {
  return pieces
    .map((piece) => {
      if ('text' in piece) return piece.text;
      if ('path' in piece) return select(piece.path, root, here).map(formatValue).join(' ');
      return select(piece.range, root, here)
        .map((item) => render(piece.body, root, item))
        .join('');
    })
    .join('');
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const STEP =
  /^(?:\.\.([\w-]+)|\.?\[\s*(?:'([^']*)'|"([^"]*)"|(-?\d+)|(\*)|\?\(\s*@([^=!<>\s]*)(?:\s*(==|!=)\s*(?:'([^']*)'|"([^"]*)"|([\w.-]+)))?\s*\))\s*\]|\.(\*)|\.?((?:[\w-]|\\.)+))/;

function select(path: string, root: unknown, here: unknown): readonly unknown[] {
  let values: readonly unknown[] = [path.startsWith('$') ? root : here];
  let rest = path.replace(/^[$@]/, '');
  while (rest !== '' && rest !== '.') {
    const found = STEP.exec(rest);
    if (found === null) throw invalid(path, `"${rest}" is not a field, index or filter`);
    rest = rest.slice(found[0].length);
    values = values.flatMap((value) => step(value, found, root));
  }
  return values;
}

function step(value: unknown, found: RegExpExecArray, root: unknown): readonly unknown[] {
  const [, deep, single, double, index, all, filter, operator, right1, right2, right3, allOfField, field] = found;
  const children = typeof value === 'object' && value !== null ? Object.values(value) : [];
  if (deep !== undefined) return descendants(value).flatMap((one) => property(one, deep));
  if (all !== undefined || allOfField !== undefined) return children;
  if (index !== undefined)
    return Array.isArray(value) && value.at(Number(index)) !== undefined ? [value.at(Number(index))] : [];
  if (filter !== undefined) {
    const wanted = right1 ?? right2 ?? right3;
    return children.filter((child) => {
      const left = select(filter, root, child);
      if (operator === undefined) return left.length > 0;
      return left.some((one) => formatValue(one) === wanted) === (operator === '==');
    });
  }
  return property(value, (single ?? double ?? field ?? '').replace(/\\(.)/g, '$1'));
}

function property(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return [];
  return Object.entries(value).flatMap(([key, one]) => (key === name ? [one] : []));
}

function descendants(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(descendants)];
}

function invalid(path: string, why: string): MachineadmError {
  return usageError(`-o jsonpath: ${path}: ${why}`, "Write it as for kubectl: -o jsonpath='{.steps[*].id}'.");
}
