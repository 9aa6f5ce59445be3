import { GoTemplateError } from './tokens.ts';
import { isList, isObject, isTrue, printed, sortedKeys, typeOf, type Value } from './values.ts';

/**
 * A function of a template. `parameters` has a letter for each: `a` any, `s` string, `n` int, `b` bool, `m` map, `l` list; the
 * last with `*` may be repeated. Arguments of the wrong type never reach `call`.
 */
export interface GoFunction {
  readonly parameters: string;
  readonly call: (...values: never[]) => Value;
}

export type Functions = Readonly<Record<string, GoFunction>>;

/** Functions that text/template itself has (funcs.go); `and` and `or` are of the language. */
export const GO_FUNCTIONS: Functions = {
  not: { parameters: 'a', call: (value: Value) => !isTrue(value) },
  len: { parameters: 'a', call: lengthOf },
  index: { parameters: 'aa*', call: (value: Value, ...keys: Value[]) => keys.reduce(item, value) },
  print: { parameters: 'a*', call: (...values: Value[]) => sprint(values) },
  println: { parameters: 'a*', call: (...values: Value[]) => `${values.map((one) => printed(one, true)).join(' ')}\n` },
  printf: { parameters: 'sa*', call: sprintf },
  eq: { parameters: 'aaa*', call: (value: Value, ...others: Value[]) => others.some((other) => equal(value, other)) },
  ne: { parameters: 'aa', call: (one: Value, other: Value) => !equal(one, other) },
  lt: { parameters: 'aa', call: (one: Value, other: Value) => compared(one, other) < 0 },
  le: { parameters: 'aa', call: (one: Value, other: Value) => compared(one, other) <= 0 },
  gt: { parameters: 'aa', call: (one: Value, other: Value) => compared(one, other) > 0 },
  ge: { parameters: 'aa', call: (one: Value, other: Value) => compared(one, other) >= 0 },
};

function lengthOf(value: Value): bigint {
  if (typeof value === 'string') return BigInt(new TextEncoder().encode(value).length);
  if (isList(value)) return BigInt(value.length);
  if (isObject(value)) return BigInt(Object.keys(value).length);
  throw new GoTemplateError(`len of type ${typeOf(value)}`);
}

function item(value: Value, key: Value): Value {
  if (isObject(value) && typeof key === 'string') return Object.hasOwn(value, key) ? value[key] : undefined;
  if (!isList(value) || typeof key !== 'bigint') throw new GoTemplateError(`cannot index ${typeOf(value)}`);
  if (key < 0n || key >= BigInt(value.length)) throw new GoTemplateError('index out of range');
  return value[Number(key)];
}

/** fmt.Sprint: a blank between operands of which none is a string. */
function sprint(values: readonly Value[]): string {
  const isBetween = (index: number) => typeof values[index] !== 'string' && typeof values[index - 1] !== 'string';
  return values.map((value, index) => `${index > 0 && isBetween(index) ? ' ' : ''}${printed(value, true)}`).join('');
}

/** fmt.Sprintf with %s, %d, %v, %q, %t and %%; a mistake, for which Go prints `%!`, is one. */
function sprintf(format: string, ...values: Value[]): string {
  let next = 0;
  const text = format.replace(/%(.?)/gs, (_whole, verb: string) => {
    if (verb === '%') return '%';
    const value = values[next++];
    if (next > values.length) throw new GoTemplateError('printf has too few arguments');
    if (verb === 'v') return printed(value, true);
    if (verb === 's' && typeof value === 'string') return value;
    if (verb === 'q' && typeof value === 'string') return quoted(value);
    if (verb === 'd' && typeof value === 'bigint') return String(value);
    if (verb === 't' && typeof value === 'boolean') return String(value);
    throw new GoTemplateError(`printf: %${verb} for ${typeOf(value)} is a mistake, or not known here`);
  });
  if (next < values.length) throw new GoTemplateError('printf has too many arguments');
  return text;
}

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
};

/** strconv.Quote. */
export function quoted(text: string): string {
  const escaped = text.replace(/["\\]|[^\P{C}\n]|[^\P{Z} ]|\n/gu, (one) => {
    const code = one.codePointAt(0) ?? 0;
    if (SHORT[one] !== undefined) return SHORT[one];
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${escaped}"`;
}

/** funcs.go, eq: basic types of one kind, or nothing. */
function equal(one: Value, other: Value): boolean {
  const [isNothing, isOtherNothing] = [one ?? null, other ?? null].map((value) => value === null);
  if (isNothing || isOtherNothing) return isNothing === isOtherNothing;
  if (isList(one) || isObject(one) || typeOf(one) !== typeOf(other))
    throw new GoTemplateError(`incompatible types for comparison: ${typeOf(one)} and ${typeOf(other)}`);
  return one === other;
}

function compared(one: Value, other: Value): number {
  const isOrdered = typeof one === 'string' || typeof one === 'number' || typeof one === 'bigint';
  if (!isOrdered || typeof one !== typeof other)
    throw new GoTemplateError(`incompatible types for comparison: ${typeOf(one)} and ${typeOf(other)}`);
  const right = other as typeof one;
  return one === right ? 0 : one < right ? -1 : 1;
}

/** encoding/json: keys sorted, and with `escapes` what HTML reads is escaped. */
export function json(value: Value, escapes: boolean): string {
  const text = JSON.stringify(value ?? null, (_name, part: Value) => {
    if (typeof part === 'bigint') return Number(part);
    return isObject(part) ? Object.fromEntries(sortedKeys(part).map((name) => [name, part[name] ?? null])) : part;
  });
  const separators = text.replace(/[\u2028\u2029]/g, (one) => (one === '\u2028' ? '\\u2028' : '\\u2029'));
  return escapes ? separators.replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`) : separators;
}
