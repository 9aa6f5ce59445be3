import { PRIVATE_HTTP } from './loopback.ts';
import { portablePattern } from './portable-pattern.ts';

/** A JSON Schema (draft 2020-12). */
export type JsonSchema = { [keyword: string]: unknown };

/** The words that conditions are written in. `path` is dotted: every part of it must be there. */

export const has = (...names: string[]): JsonSchema => ({ required: names });

/** A field that is there and fits; all that is above it as well. */
export function given(path: string, schema: JsonSchema | true = true): JsonSchema {
  const [name = '', ...rest] = path.split('.');
  const part = rest.length === 0 ? schema : { type: 'object', ...given(rest.join('.'), schema) };
  return { properties: { [name]: part }, required: [name] };
}

export const is = (path: string, value: unknown): JsonSchema => given(path, { const: value });

/** Wherever the field is, it must fit. `[]` are the entries of a list, `*` the values of a map; `false`: it may not be there. */
export function must(path: string, schema: JsonSchema | boolean): JsonSchema {
  const [step = '', ...rest] = path.split('.');
  const list = step.endsWith('[]');
  const name = list ? step.slice(0, -2) : step;
  const inner = rest.length === 0 ? schema : { type: 'object', ...must(rest.join('.'), schema) };
  const part = list ? { type: 'array', items: inner } : inner;
  return name === '*' ? { additionalProperties: part } : { properties: { [name]: part } };
}

export const without = (...paths: string[]): JsonSchema => all(...paths.map((path) => must(path, false)));

export const all = (...schemas: JsonSchema[]): JsonSchema =>
  schemas.length === 1 ? (schemas[0] ?? {}) : { allOf: schemas };

export const any = (...schemas: JsonSchema[]): JsonSchema => ({ anyOf: schemas });

export const not = (schema: JsonSchema): JsonSchema => ({ not: schema });

/** By a name, for an object with a method `then` would be a promise. */
const THEN = 'then';

export const when = (condition: JsonSchema, consequence: JsonSchema, otherwise?: JsonSchema): JsonSchema => ({
  if: condition,
  [THEN]: consequence,
  ...(otherwise === undefined ? {} : { else: otherwise }),
});

export const exclusive = (first: string, second: string): JsonSchema => not(has(first, second));

export const exactlyOne = (...names: string[]): JsonSchema => ({ oneOf: names.map((name) => has(name)) });

export const atLeastOne = (...names: string[]): JsonSchema => any(...names.map((name) => has(name)));

/** A text of a pattern. */
export const text = (pattern: RegExp): JsonSchema => ({ type: 'string', ...portablePattern(pattern) });

/** A text that does not have it anywhere. */
export const textWithout = (pattern: RegExp): JsonSchema => ({ type: 'string', not: portablePattern(pattern) });

/** A text with a variable: its value is not known yet. */
export const VARIABLE: JsonSchema = { $ref: '#/$defs/VariableText' };

/** A secret that is written down has a form; of a reference nothing is known. */
export const writtenSecret = (pattern: RegExp): JsonSchema => any({ type: 'object' }, text(pattern));

export const contains = (schema: JsonSchema): JsonSchema => ({ type: 'array', contains: schema });

export const atMostOne = (schema: JsonSchema): JsonSchema => ({
  type: 'array',
  contains: schema,
  minContains: 0,
  maxContains: 1,
});

/** A request whose answer is a secret needs TLS, unless the document permits it or nobody else can listen. */
export function secretOverTls(field: string): JsonSchema {
  return when(given(field, all(text(/^http:\/\//), not(VARIABLE), not(text(PRIVATE_HTTP)))), is('allowInsecure', true));
}

/** The same for a request with credentials in its headers, its URL or one of the given fields. */
export function credentialsOverTls(field: string, ...others: readonly string[]): JsonSchema {
  const credentials = any(
    ...others.map((name) => has(name)),
    given('headers', { type: 'object', minProperties: 1 }),
    given(field, text(/^http:\/\/[^/?#@]+@/)),
  );
  return when(all(has(field), credentials), secretOverTls(field));
}
