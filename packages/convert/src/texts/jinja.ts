import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import type { Report } from '../report/report.ts';

/**
 * cloud-init renders Cluster API's whole user data as a jinja template before it parses the YAML (cluster-api
 * bootstrap/kubeadm/pkg/cloudinit, `## template: jinja`). An expression over instance data becomes a mark in the text,
 * and finally a variable of the document; everything else of jinja is refused.
 */

/** Characters of Unicode's private use area around the number of an expression: real text does not contain them. */
const OPEN = '\uE000';
const CLOSE = '\uE001';
export const MARK = new RegExp(`${OPEN}(\\d+)${CLOSE}`, 'g');

/** The expressions by the numbers in their marks. */
export class Expressions {
  readonly #paths: string[] = [];
  readonly #indexes = new Map<string, number>();

  /** The mark for a dotted path of instance data. */
  mark(path: string): string {
    const index = this.#indexes.get(path) ?? this.#paths.push(path) - 1;
    this.#indexes.set(path, index);
    return `${OPEN}${index}${CLOSE}`;
  }

  path(index: string): string | undefined {
    return this.#paths[Number(index)];
  }

  /** Replaces every mark in a text. */
  replace(text: string, replacement: (path: string) => string): string {
    return text.replace(MARK, (whole, index: string) => {
      const path = this.path(index);
      return path === undefined ? whole : replacement(path);
    });
  }
}

export function hasMark(text: string): boolean {
  return text.includes(OPEN);
}

const RAW = /\{%[-+]?\s*raw\s*[-+]?%\}/g;
const END_RAW = /\{%[-+]?\s*endraw\s*[-+]?%\}/g;

/** Marks the expressions of a text and unwraps `{% raw %}`. Other jinja is reported at `place`. */
export function markExpressions(text: string, place: string, expressions: Expressions, report: Report): string {
  if (!/\{[{%#]/.test(text)) return text;
  const marked: string[] = [];
  let end = 0;
  for (;;) {
    const raw = matchFrom(RAW, text, end);
    const endRaw = raw === undefined ? undefined : matchFrom(END_RAW, text, raw.end);
    if (raw === undefined || endRaw === undefined) break;
    marked.push(markPlain(text.slice(end, raw.start), place, expressions, report), text.slice(raw.end, endRaw.start));
    end = endRaw.end;
  }
  return marked.join('') + markPlain(text.slice(end), place, expressions, report);
}

function matchFrom(pattern: RegExp, text: string, from: number): { start: number; end: number } | undefined {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
}

/** The closing delimiter of each opening one, in jinja's lexer. */
const CLOSING: Readonly<Record<string, string>> = { '{': '}}', '%': '%}', '#': '#}' };

/** A text of its own, as templates write braces for other programs: `{{ '{{' }}`. */
const LITERAL = /\{\{[-+]?\s{0,9}(?:"([^"\\]{0,200})"|'([^'\\]{0,200})')\s{0,9}[-+]?\}\}/y;

function markPlain(text: string, place: string, expressions: Expressions, report: Report): string {
  const marked: string[] = [];
  /** Opening delimiters without a closing one from here on: searched only once. */
  const unclosed = new Set<string>();
  let end = 0;
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start)) {
    const kind = text[start + 1] ?? '';
    LITERAL.lastIndex = start;
    const literal = kind === '{' ? LITERAL.exec(text) : null;
    if (literal !== null) {
      marked.push(text.slice(end, start), literal[1] ?? literal[2] ?? '');
      end = LITERAL.lastIndex;
      start = end;
      continue;
    }
    const closing = CLOSING[kind];
    const close = closing === undefined || unclosed.has(kind) ? -1 : text.indexOf(closing, start + 2);
    if (closing === undefined || close < 0) {
      if (closing !== undefined) unclosed.add(kind);
      start++;
      continue;
    }
    const whole = text.slice(start, close + 2);
    marked.push(text.slice(end, start), replacement(whole, kind, place, expressions, report));
    end = close + 2;
    start = end;
  }
  return marked.join('') + text.slice(end);
}

function replacement(whole: string, kind: string, place: string, expressions: Expressions, report: Report): string {
  const inner = whole.slice(2, -2).replace(/^[-+]/, '').replace(/[-+]$/, '').trim();
  const path = kind === '{' ? instanceDataPath(inner) : undefined;
  if (path !== undefined) return expressions.mark(path);
  const what = kind === '{' ? 'an expression' : kind === '#' ? 'a comment' : 'control flow';
  report.add(
    'JinjaUnsupported',
    place,
    `${what} that is more than a variable of instance data: ${excerpt(whole)}; ${wayOut(kind, inner)}`,
  );
  return whole;
}

/** What to do about an expression, by its form. */
function wayOut(kind: string, expression: string): string {
  if (kind === '#') return 'remove the comment, or enclose it in {% raw %} if it is for another program';
  if (kind === '{' && /^[A-Za-z_][\w.]{0,200}(?:\[[^\]]{0,60}\]){0,9}\s{0,9}(?:\||\.\w|\()/.test(expression)) {
    const name = 'for the name of a node leave it out: kubeadm takes the host name in lower case';
    const file = 'else write the result into a file of the machine, and use a variable with file';
    return `a document changes no text: in a command let the shell do it; ${name}; ${file}`;
  }
  return 'enclose it in {% raw %} if it is for another program';
}

/**
 * The beginning of an expression: its name or keyword. The rest is withheld, because a literal may be a secret, and so
 * may any text after two brackets that were not meant as an expression.
 */
function excerpt(expression: string): string {
  const [begins = ''] = /^\{[{%#][-+]?\s*[A-Za-z_]?[\w.]{0,60}/.exec(expression) ?? [];
  return `${begins.replace(/\s+/g, ' ')} … ${expression.slice(-2)}`;
}

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
/** In a double-quoted YAML string the quotes are escaped, which jinja itself would not accept. */
const PATH = new RegExp(`^${NAME}(?:\\.${NAME}|\\[\\\\?(["'])[A-Za-z0-9_-]+\\\\?\\1\\])*$`);

/** As the documentation of the providers has it. */
const FIRST_LABEL =
  /^(?:(?:v1\.)?local_hostname|ds\.meta_data(?:\.local_hostname|\[\\?["']local[_-]hostname\\?["']\]))\.split\(\s{0,9}\\?["']\.\\?["']\s{0,9}(?:,\s{0,9}1\s{0,9})?\)(?:\[0\]|\s{0,9}\|\s{0,9}first)$/;

/** Filters that change no text of instance data. */
const WITHOUT_EFFECT = /\s{0,9}\|\s{0,9}(?:string|safe)$/;

/** `ds.meta_data["rack"]` as `ds.meta_data.rack`; undefined for anything that is not the path of a variable. */
function instanceDataPath(expression: string): string | undefined {
  const trimmed = expression.replace(WITHOUT_EFFECT, '');
  // The first label: cloud-init's own v1.local_hostname (cloudinit/sources/__init__.py, get_hostname).
  if (FIRST_LABEL.test(trimmed)) return 'v1.local_hostname';
  if (!PATH.test(trimmed) || /^(?:true|false|none)$/i.test(trimmed)) return undefined;
  return trimmed.replace(/\[\\?["']([A-Za-z0-9_-]+)\\?["']\]/g, '.$1');
}

/** The same for every string of a tree, except keys. `placeOf` returns the place of a string. */
export function markTree(
  value: unknown,
  placeOf: (path: readonly (string | number)[]) => string,
  expressions: Expressions,
  report: Report,
  path: readonly (string | number)[] = [],
): unknown {
  if (typeof value === 'string') return markExpressions(value, placeOf(path), expressions, report);
  if (Array.isArray(value)) {
    return value.map((item, index) => markTree(item, placeOf, expressions, report, [...path, index]));
  }
  if (typeof value !== 'object' || value === null || value instanceof Verbatim) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, markTree(item, placeOf, expressions, report, [...path, key])]),
  );
}
