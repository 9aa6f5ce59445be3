import type { Report } from './report.ts';

/**
 * cloud-init renders the whole user data of Cluster API as a jinja template before it reads it as YAML
 * (cluster-api bootstrap/kubeadm/pkg/cloudinit, `## template: jinja`). An expression over instance data becomes a mark in
 * the text, and at last a variable of the document; anything else that jinja would do is refused.
 */

/** Characters of Unicode's private use area around the number of an expression: no text of people has them. */
const OPEN = '\uE000';
const CLOSE = '\uE001';
export const MARK = new RegExp(`${OPEN}(\\d+)${CLOSE}`, 'g');

/** The expressions found, by the number in their marks. */
export class Expressions {
  readonly #paths: string[] = [];

  /** The mark for a dotted path of instance data. */
  mark(path: string): string {
    const known = this.#paths.indexOf(path);
    const index = known === -1 ? this.#paths.push(path) - 1 : known;
    return `${OPEN}${index}${CLOSE}`;
  }

  path(index: string): string | undefined {
    return this.#paths[Number(index)];
  }

  /** Every text that is marked is put in the place of its mark. */
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

/** The text of an opening or closing brace pair as jinja's lexer sees it. */
const TOKEN = /\{\{[-+]?([\s\S]*?)[-+]?\}\}|\{%[-+]?([\s\S]*?)[-+]?%\}|\{#[\s\S]*?#\}/g;
const RAW = /\{%[-+]?\s*raw\s*[-+]?%\}([\s\S]*?)\{%[-+]?\s*endraw\s*[-+]?%\}/g;

/** Marks the expressions of a text and unwraps `{% raw %}`. What jinja would do else is reported at `place`. */
export function markExpressions(text: string, place: string, expressions: Expressions, report: Report): string {
  if (!/\{[{%#]/.test(text)) return text;
  let marked = '';
  let end = 0;
  for (const raw of text.matchAll(RAW)) {
    marked += markPlain(text.slice(end, raw.index), place, expressions, report) + (raw[1] ?? '');
    end = raw.index + raw[0].length;
  }
  return marked + markPlain(text.slice(end), place, expressions, report);
}

function markPlain(text: string, place: string, expressions: Expressions, report: Report): string {
  return text.replace(TOKEN, (whole: string, expression: string | undefined) => {
    const path = expression === undefined ? undefined : instanceDataPath(expression);
    if (path !== undefined) return expressions.mark(path);
    const what = expression === undefined ? (whole.startsWith('{#') ? 'a comment' : 'control flow') : 'an expression';
    const hint = 'write it around with {% raw %} if it is meant for another program';
    report.add(
      'JinjaUnsupported',
      place,
      `${what} that is more than a variable of instance data: ${shown(whole)}; ${hint}`,
    );
    return whole;
  });
}

/** An expression is code, not a value, and short; a long one is cut. */
function shown(expression: string): string {
  const line = expression.replace(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
}

const NAME = '[A-Za-z_][A-Za-z0-9_]*';
/** In a double-quoted string of YAML the quotes are escaped, which jinja itself would choke on. */
const PATH = new RegExp(`^${NAME}(?:\\.${NAME}|\\[\\\\?(["'])[A-Za-z0-9_-]+\\\\?\\1\\])*$`);

/** `ds.meta_data["rack"]` as `ds.meta_data.rack`; undefined for anything that is not the path of a variable. */
function instanceDataPath(expression: string): string | undefined {
  const trimmed = expression.trim();
  if (!PATH.test(trimmed) || /^(?:true|false|none)$/i.test(trimmed)) return undefined;
  return trimmed.replace(/\[\\?["']([A-Za-z0-9_-]+)\\?["']\]/g, '.$1');
}

/** The same for every string of a tree, the keys left alone. `placeOf` names where a string stands. */
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
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, markTree(item, placeOf, expressions, report, [...path, key])]),
  );
}
