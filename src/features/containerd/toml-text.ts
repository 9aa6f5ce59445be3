import type { TomlTable, TomlValue } from '@machineadm/document/model/index.ts';
import { decimal, Verbatim, wholeNumber } from '@machineadm/document/values/verbatim.ts';
import { isTable } from '../../container-runtime/toml-tree.ts';

/**
 * Lossless TOML. The library loses distinctions that go-toml requires: 1.0 is not an integer, the precision of a date,
 * integers above 2^53. So values that JavaScript would change are replaced by text before parsing, and restored when
 * writing.
 */

/** Dotted keys nest without a bracket. A recursive walk uses the stack for each level. */
const DEEPEST = 100;

function isDeep(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((part) => isDeep(part, levels - 1));
}

/** The library refuses integers above 2^53 otherwise. */
const WHOLE_NUMBERS = { integersAsBigInt: 'asNeeded', maxDepth: DEEPEST } as const;

/** The tree of a text. Throws the library's `TomlError`. */
export async function parseTable(text: string): Promise<TomlTable> {
  const { parse, TomlError } = await import('smol-toml');
  const whole = parse(text, WHOLE_NUMBERS);
  if (isDeep(whole, DEEPEST)) throw new TomlError('nested too deeply', { toml: text, ptr: 0 });
  const literals: string[] = [];
  const mark = unusedMark(text);
  const marked = replaceScalars(text, (scalar) =>
    isChanged(scalar) ? `"${mark}${literals.push(scalar) - 1}"` : undefined,
  );
  return toTable(literals.length === 0 ? whole : parse(marked, WHOLE_NUMBERS), (value) =>
    value.startsWith(mark) ? literals[Number(value.slice(mark.length))] : undefined,
  );
}

/** A table of the same structure as a text's, with the place of each scalar as its value: `PATH:LINE:COLUMN`. */
export async function placesOf(path: string, text: string): Promise<TomlTable> {
  const { parse } = await import('smol-toml');
  let [line, lineStart, seen] = [1, 0, 0];
  const places = replaceScalars(text, (_scalar, at) => {
    for (let end = text.indexOf('\n', seen); end >= 0 && end < at; end = text.indexOf('\n', seen)) {
      line++;
      lineStart = seen = end + 1;
    }
    return JSON.stringify(`${path}:${line}:${at - lineStart + 1}`);
  });
  return toTable(parse(places, WHOLE_NUMBERS));
}

/** The text of a tree; the same tree gives the same bytes. */
export async function tableText(table: TomlTable): Promise<string> {
  const { stringify } = await import('smol-toml');
  const literals: string[] = [];
  const mark = unusedMark(JSON.stringify(table));
  const text = stringify(withMarks(table, (literal) => `${mark}${literals.push(inToml(literal)) - 1}`));
  return literals.length === 0
    ? text
    : text.replace(new RegExp(`"${mark}(\\d+)"`, 'g'), (_, index) => literals[Number(index)] ?? '');
}

/** A placeholder that does not occur in the text. */
function unusedMark(text: string): string {
  let mark = 'verbatim';
  while (text.includes(mark)) mark += '-';
  return mark;
}

const TOML_NUMBER = /^[-+]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][-+]?\d(?:_?\d)*)?$/;

/** Numbers of the document are written as in YAML. */
function inToml(text: string): string {
  if (TOML_NUMBER.test(text)) return text;
  const infinite = /^([-+]?)\.(inf|nan)$/i.exec(text);
  if (infinite !== null) return `${infinite[1]}${infinite[2]?.toLowerCase()}`;
  const whole = /^[-+]?\d+$/.test(text) ? wholeNumber(text) : undefined;
  return whole?.toString() ?? (/^[-+]?[\d.]+(?:[eE][-+]?\d+)?$/.test(text) ? decimal(text) : undefined) ?? text;
}

function withMarks(value: TomlTable, mark: (literal: string) => string): TomlTable {
  const marked = (part: TomlValue): TomlValue => {
    if (part instanceof Verbatim) return mark(part.text);
    if (Array.isArray(part)) return part.map(marked);
    return isTable(part) ? withMarks(part, mark) : part;
  };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, marked(part)]));
}

/** The library's result as our own tree: without prototypes. */
export function toTable(parsed: object, literalOf: (text: string) => string | undefined = () => undefined): TomlTable {
  const toValue = (value: unknown): TomlValue => {
    if (typeof value === 'string') {
      const literal = literalOf(value);
      return literal === undefined ? value : new Verbatim(literal);
    }
    if (typeof value === 'number' || typeof value === 'boolean') return value;
    if (Array.isArray(value)) return value.map(toValue);
    return typeof value === 'object' && value !== null ? toTable(value, literalOf) : String(value);
  };
  return Object.fromEntries(Object.entries(parsed).map(([key, value]) => [key, toValue(value)]));
}

const STRING = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
const DATE_AND_TIME = /\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d[0-9:.Zz+-]*/y;
const COMMENT = /#[^\n]*/y;
const WORD = /[^\s,=#[\]{}"']+/y;

/** Replaces scalars of a valid text where there is a replacement. */
function replaceScalars(text: string, replacement: (scalar: string, at: number) => string | undefined): string {
  const pieces: string[] = [];
  let end = 0;
  /** Open brackets of values: a key follows `{`, a value follows `[`. */
  const open: string[] = [];
  let isValue = false;
  for (let at = 0, length = 1; at < text.length; at += length) {
    const char = text[at] ?? '';
    const matched = (pattern: RegExp): number => {
      pattern.lastIndex = at;
      return pattern.exec(text)?.[0].length ?? 0;
    };
    const comment = char === '#' ? matched(COMMENT) : 0;
    length = comment || matched(STRING) || (isValue && matched(DATE_AND_TIME)) || matched(WORD);
    const replaced = length > 0 && comment === 0 && isValue ? replacement(text.slice(at, at + length), at) : undefined;
    if (length === 0) {
      isValue = isValueAfter(char, isValue, open);
      length = 1;
    } else if (replaced !== undefined) {
      pieces.push(text.slice(end, at), replaced);
      end = at + length;
    }
  }
  return pieces.join('') + text.slice(end);
}

/** Whether JavaScript would write the number differently, or it is not a number. */
function isChanged(word: string): boolean {
  if (!/^[-+]?(?:[0-9]|inf$|nan$)/.test(word)) return false;
  return String(Number(word)) !== word || !(word.includes('.') || Number.isSafeInteger(Number(word)));
}

/** Whether a value may follow a character that is not part of one. */
function isValueAfter(char: string, isValue: boolean, open: string[]): boolean {
  if (char === '=') return true;
  if (isValue && (char === '[' || char === '{')) open.push(char);
  if (isValue && char === '{') return false;
  if (open.length > 0 && (char === ']' || char === '}')) {
    open.pop();
    return open.at(-1) === '[';
  }
  if (char === ',') return open.at(-1) === '[';
  return char === '\n' && open.length === 0 ? false : isValue;
}
