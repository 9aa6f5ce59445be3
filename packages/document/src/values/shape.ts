/**
 * Checks of stored values: a damaged file is reported as such, instead of failing later. Unknown fields of newer
 * versions are accepted. Written by hand, because files that are read at every start must not load a schema library.
 */
export type Check = (value: unknown) => boolean;

export const string: Check = (value) => typeof value === 'string';
export const number: Check = (value) => typeof value === 'number';
export const instant: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));

export function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

export function oneOf(...words: readonly unknown[]): Check {
  return (value) => words.includes(value);
}

export function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

export function object(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (value) =>
    isRecord(value) && checks.every(([name, check]) => check(Object.hasOwn(value, name) ? value[name] : undefined));
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
