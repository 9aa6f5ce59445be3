import { type Functions, GO_FUNCTIONS, json, quoted } from './functions.ts';
import { goRegexps, type Regexps } from './regexps.ts';
import { semverCompare, semverOf } from './semver.ts';
import { GoTemplateError } from './tokens.ts';
import { isList, isObject, isTrue, printed, requireShort, sortedKeys, typeOf, type Value } from './values.ts';

/**
 * The functions of Sprig (github.com/Masterminds/sprig v3, `HermeticTxtFuncMap`) that depend on their arguments only, as far as
 * templates of ClusterClasses use them. What is not here, or an argument whose meaning depends on the version of a library, is
 * an error of the template.
 */
export function sprigFunctions(regexps: Regexps | undefined): Functions {
  return {
    ...GO_FUNCTIONS,
    ...TEXT,
    ...CHOICE,
    ...LISTS,
    ...MAPS,
    ...NUMBERS,
    ...(regexps === undefined ? {} : goRegexps(regexps)),
  };
}

const SPACE = /[\t\n\v\f\r \u0085\p{Z}]/u;

/** strings.TrimSpace. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && SPACE.test(text[start] ?? '')) start++;
  while (end > start && SPACE.test(text[end - 1] ?? '')) end--;
  return text.slice(start, end);
}

const TEXT: Functions = {
  lower: { parameters: 's', call: (text: string) => text.toLowerCase() },
  upper: { parameters: 's', call: (text: string) => text.toUpperCase() },
  trim: { parameters: 's', call: trimSpace },
  trimAll: { parameters: 'ss', call: trimmed },
  trimPrefix: {
    parameters: 'ss',
    call: (prefix: string, text: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
  },
  trimSuffix: {
    parameters: 'ss',
    call: (suffix: string, text: string) => (text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text),
  },
  hasPrefix: { parameters: 'ss', call: (prefix: string, text: string) => text.startsWith(prefix) },
  hasSuffix: { parameters: 'ss', call: (suffix: string, text: string) => text.endsWith(suffix) },
  contains: { parameters: 'ss', call: (part: string, text: string) => text.includes(part) },
  replace: { parameters: 'sss', call: (old: string, by: string, text: string) => replaced(text, old, by) },
  repeat: { parameters: 'ns', call: repeated },
  nospace: { parameters: 's', call: (text: string) => text.replace(/[\t\n\v\f\r \u0085\p{Z}]/gu, '') },
  trunc: { parameters: 'ns', call: truncated },
  indent: { parameters: 'ns', call: indented },
  nindent: { parameters: 'ns', call: (size: bigint, text: string) => `\n${indented(size, text)}` },
  quote: {
    parameters: 'a*',
    call: (...values: Value[]) =>
      given(values)
        .map((value) => quoted(printed(value)))
        .join(' '),
  },
  squote: {
    parameters: 'a*',
    call: (...values: Value[]) =>
      given(values)
        .map((value) => `'${printed(value)}'`)
        .join(' '),
  },
  cat: {
    parameters: 'a*',
    call: (...values: Value[]) =>
      given(values)
        .map((value) => printed(value))
        .join(' '),
  },
  toString: { parameters: 'a', call: (value: Value) => printed(value) },
  b64enc: { parameters: 's', call: (text: string) => btoa(binary(new TextEncoder().encode(text))) },
  b64dec: { parameters: 's', call: decoded },
  toJson: { parameters: 'a', call: (value: Value) => json(value, true) },
  toRawJson: { parameters: 'a', call: (value: Value) => json(value, false) },
  semver: { parameters: 's', call: semverOf },
  semverCompare: { parameters: 'ss', call: semverCompare },
};

function given(values: readonly Value[]): readonly Value[] {
  return values.filter((value) => value !== undefined && value !== null);
}

function trimmed(characters: string, text: string): string {
  const set = new Set(characters);
  const all = Array.from(text);
  const first = all.findIndex((one) => !set.has(one));
  return first < 0 ? '' : all.slice(first, all.findLastIndex((one) => !set.has(one)) + 1).join('');
}

/** strings.ReplaceAll, which for an empty text puts the new one around every character. */
function replaced(text: string, old: string, by: string): string {
  const pieces = old === '' ? ['', ...Array.from(text), ''] : text.split(old);
  return joined(by, pieces);
}

/** Never builds what is too long. */
function joined(separator: string, pieces: readonly string[]): string {
  requireShort(separator.length * (pieces.length - 1));
  return pieces.join(separator);
}

function repeated(count: bigint, text: string): string {
  if (count < 0n) throw new GoTemplateError('a negative number of repetitions');
  requireShort(Number(count) * text.length);
  return text.repeat(Number(count));
}

function indented(size: bigint, text: string): string {
  const pad = repeated(size, ' ');
  return `${pad}${joined(`\n${pad}`, text.split('\n'))}`;
}

/** Bytes in Go: only ASCII is the same here. */
function truncated(size: bigint, text: string): string {
  if (/[^\0-\x7f]/.test(text)) throw new GoTemplateError('trunc of a text that is not ASCII');
  const count = Number(size);
  if (count < 0 && text.length + count > 0) return text.slice(count);
  return count >= 0 ? text.slice(0, count) : text;
}

function binary(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

function decoded(text: string): string {
  try {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new GoTemplateError('b64dec of something that is not base64 of a text');
  }
}

const CHOICE: Functions = {
  default: { parameters: 'aa*', call: (other: Value, ...values: Value[]) => (isTrue(values[0]) ? values[0] : other) },
  empty: { parameters: 'a', call: (value: Value) => !isTrue(value) },
  coalesce: { parameters: 'a*', call: (...values: Value[]) => values.find(isTrue) },
  ternary: { parameters: 'aab', call: (yes: Value, no: Value, which: boolean) => (which ? yes : no) },
  all: { parameters: 'a*', call: (...values: Value[]) => values.every(isTrue) },
  any: { parameters: 'a*', call: (...values: Value[]) => values.some(isTrue) },
  fail: {
    parameters: 's',
    call: () => {
      throw new GoTemplateError('the template says fail');
    },
  },
  kindOf: { parameters: 'a', call: kindOf },
  kindIs: { parameters: 'sa', call: (kind: string, value: Value) => kindOf(value) === kind },
};

function kindOf(value: Value): string {
  if (isList(value)) return 'slice';
  if (isObject(value)) return 'map';
  return value === undefined || value === null ? 'invalid' : typeOf(value);
}

const LISTS: Functions = {
  list: { parameters: 'a*', call: (...values: Value[]) => values },
  join: { parameters: 'sa', call: (separator: string, value: Value) => joined(separator, texts(value)) },
  splitList: { parameters: 'ss', call: (separator: string, text: string) => parts(text, separator) },
  split: {
    parameters: 'ss',
    call: (separator: string, text: string) =>
      Object.fromEntries(parts(text, separator).map((part, index) => [`_${index}`, part])),
  },
  toStrings: { parameters: 'a', call: texts },
  sortAlpha: { parameters: 'a', call: (value: Value) => texts(value).toSorted((one, other) => (one < other ? -1 : 1)) },
  first: { parameters: 'l', call: (list: readonly Value[]) => list[0] },
  last: { parameters: 'l', call: (list: readonly Value[]) => list.at(-1) },
  rest: { parameters: 'l', call: (list: readonly Value[]) => list.slice(1) },
  initial: { parameters: 'l', call: (list: readonly Value[]) => list.slice(0, -1) },
  append: { parameters: 'la', call: (list: readonly Value[], value: Value) => [...list, value] },
  prepend: { parameters: 'la', call: (list: readonly Value[], value: Value) => [value, ...list] },
  concat: { parameters: 'l*', call: (...lists: (readonly Value[])[]) => lists.flat() as readonly Value[] },
  reverse: { parameters: 'l', call: (list: readonly Value[]) => list.toReversed() },
  compact: { parameters: 'l', call: (list: readonly Value[]) => list.filter(isTrue) },
  has: { parameters: 'al', call: (value: Value, list: readonly Value[]) => list.some((one) => same(one, value)) },
  without: {
    parameters: 'la*',
    call: (list: readonly Value[], ...values: Value[]) =>
      list.filter((one) => !values.some((value) => same(one, value))),
  },
  uniq: {
    parameters: 'l',
    call: (list: readonly Value[]) =>
      list.filter((one, index) => list.findIndex((other) => same(one, other)) === index),
  },
  until: { parameters: 'n', call: until },
};

function parts(text: string, separator: string): readonly string[] {
  return separator === '' ? Array.from(text) : text.split(separator);
}

/** strslice of sprig's strings.go. */
function texts(value: Value): readonly string[] {
  if (isList(value)) return given(value).map((one) => printed(one));
  return value === undefined || value === null ? [] : [printed(value)];
}

/** reflect.DeepEqual: a float64 is not an int. */
function same(one: Value, other: Value): boolean {
  return typeOf(one) === typeOf(other) && json(one, false) === json(other, false);
}

function until(count: bigint): readonly Value[] {
  if (count < 0n || count > 10_000n) throw new GoTemplateError('until: too many');
  return Array.from({ length: Number(count) }, (_, index) => BigInt(index));
}

const MAPS: Functions = {
  dict: { parameters: 'a*', call: dict },
  get: {
    parameters: 'ms',
    call: (map: Readonly<Record<string, Value>>, name: string) => (Object.hasOwn(map, name) ? map[name] : ''),
  },
  hasKey: { parameters: 'ms', call: (map: Readonly<Record<string, Value>>, name: string) => Object.hasOwn(map, name) },
  pick: { parameters: 'ms*', call: (map, ...names: string[]) => filtered(map, (name) => names.includes(name)) },
  omit: { parameters: 'ms*', call: (map, ...names: string[]) => filtered(map, (name) => !names.includes(name)) },
};

function dict(...values: readonly Value[]): Value {
  const pairs: [string, Value][] = [];
  for (let index = 0; index < values.length; index += 2)
    pairs.push([printed(values[index], true), values[index + 1] ?? '']);
  return Object.fromEntries(pairs);
}

function filtered(map: Readonly<Record<string, Value>>, keeps: (name: string) => boolean): Value {
  return Object.fromEntries(
    sortedKeys(map)
      .filter(keeps)
      .map((name) => [name, map[name]]),
  );
}

const NUMBERS: Functions = {
  int: { parameters: 'a', call: integer },
  int64: { parameters: 'a', call: integer },
  atoi: {
    parameters: 's',
    call: (text: string) => (/^[+-]?\d{1,18}$/.test(text) ? BigInt(text.replace('+', '')) : 0n),
  },
  add: { parameters: 'a*', call: (...values: Value[]) => sum(values) },
  add1: { parameters: 'a', call: (value: Value) => integer(value) + 1n },
  sub: { parameters: 'aa', call: (one: Value, other: Value) => integer(one) - integer(other) },
  mul: {
    parameters: 'aa*',
    call: (...values: Value[]) => fits(values.map(integer).reduce((one, other) => one * other)),
  },
  div: { parameters: 'aa', call: (one: Value, other: Value) => integer(one) / divisor(other) },
  mod: { parameters: 'aa', call: (one: Value, other: Value) => integer(one) % divisor(other) },
  max: {
    parameters: 'aa*',
    call: (...values: Value[]) => values.map(integer).reduce((one, other) => (one > other ? one : other)),
  },
  min: {
    parameters: 'aa*',
    call: (...values: Value[]) => values.map(integer).reduce((one, other) => (one < other ? one : other)),
  },
};

/** toInt64 of sprig's numeric.go. A text with a zero before its digits is octal in some of its versions. */
function integer(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 2 ** 63)
    return BigInt(Math.trunc(value));
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (value === undefined || value === null) return 0n;
  if (typeof value === 'string' && /^[+-]?(?:0|[1-9]\d{0,17})$/.test(value)) return BigInt(value.replace('+', ''));
  throw new GoTemplateError('an argument is not a number');
}

function sum(values: readonly Value[]): bigint {
  return fits(values.map(integer).reduce((one, other) => one + other, 0n));
}

function fits(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new GoTemplateError('a number overflows');
  return value;
}

function divisor(value: Value): bigint {
  const number = integer(value);
  if (number === 0n) throw new GoTemplateError('a division by zero');
  return number;
}
