import { Verbatim } from '@machineadm/document/values/verbatim.ts';
import { isMap } from '../values/map.ts';
import { GoTemplateError } from './tokens.ts';

/**
 * Values as Go's text/template has them: a number of JSON is a float64, a number that the template or a function makes is an
 * int, for which `bigint` stands here.
 */
export type Value =
  | undefined
  | null
  | boolean
  | string
  | number
  | bigint
  | Opaque
  | readonly Value[]
  | { readonly [name: string]: Value };

/** A value with fields that cannot be printed, or that the input does not have: whoever reads it must know. */
export class Opaque {
  readonly fields: ReadonlyMap<string, Value>;
  readonly why: string;

  constructor(why: string, fields: ReadonlyMap<string, Value> = new Map()) {
    this.why = why;
    this.fields = fields;
  }
}

/** A value of YAML or JSON. */
export function goValue(data: unknown): Value {
  if (data instanceof Verbatim) return Number(data.text);
  if (data instanceof Opaque) return data;
  if (Array.isArray(data)) return data.map(goValue);
  if (isMap(data)) return Object.fromEntries(Object.entries(data).map(([name, item]) => [name, goValue(item)]));
  if (data === undefined || data === null) return data;
  if (typeof data === 'string' || typeof data === 'boolean' || typeof data === 'number') return data;
  throw new GoTemplateError('a value that JSON does not have');
}

export function isObject(value: Value): value is { readonly [name: string]: Value } {
  return isMap(value) && !(value instanceof Opaque);
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** text/template, "truth": not the zero of its type. */
export function isTrue(value: Value): boolean {
  if (isList(value)) return value.length > 0;
  if (isObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** `%T` of what an interface holds. */
export function typeOf(value: Value): string {
  if (value === undefined || value === null) return '<nil>';
  if (isList(value)) return '[]interface {}';
  if (typeof value === 'number') return 'float64';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}

/** `%v`. */
export function printed(value: Value, isInside = false): string {
  if (value instanceof Opaque) throw new GoTemplateError(value.why);
  // "<no value>" in a machine's configuration is never intended.
  if (value === undefined || value === null) {
    if (isInside) return '<nil>';
    throw new GoTemplateError('it prints a variable or field that has no value');
  }
  if (isList(value)) return `[${value.map((item) => printed(item, true)).join(' ')}]`;
  if (typeof value === 'number') return floating(value);
  if (!isObject(value)) return String(value);
  const entries = sortedKeys(value).map((name) => `${name}:${printed(value[name], true)}`);
  return `map[${entries.join(' ')}]`;
}

/** What a template may make of a text by repeating it. */
const LONGEST = 2 ** 20;

export function requireShort(length: number): void {
  if (length > LONGEST) throw new GoTemplateError('a text becomes too long');
}

/** The values in a value, counted up to a limit; a text by its length. */
export function sizeOf(value: Value, limit: number): number {
  if (typeof value === 'string') requireShort(value.length);
  if (typeof value === 'string') return 1 + value.length / 64;
  let size = 1;
  for (const part of isList(value) ? value : isObject(value) ? Object.values(value) : []) {
    if (size > limit) break;
    size += sizeOf(part, limit - size);
  }
  return size;
}

/** By bytes, as Go sorts. */
export function sortedKeys(value: { readonly [name: string]: Value }): readonly string[] {
  return Object.keys(value).sort((one, other) => (one < other ? -1 : 1));
}

/** strconv.FormatFloat with 'g' and the shortest precision: an exponent below -4 and from 6 on (fmt, `%v`). */
function floating(value: number): string {
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const size = Number(exponent);
  if (size >= -4 && size < 6) {
    const plain = String(value);
    return plain.includes('e') ? value.toFixed(digits.replace(/\D/g, '').length - 1 - size) : plain;
  }
  return `${digits}e${size < 0 ? '-' : '+'}${String(Math.abs(size)).padStart(2, '0')}`;
}
