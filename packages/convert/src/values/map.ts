import { Verbatim } from '@machineadm/document/values/verbatim.ts';

/** A mapping of an input, as opposed to bytes and verbatim numbers. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !ArrayBuffer.isView(value) && !(value instanceof Verbatim);
}

/** What is below these names in maps of maps. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = isMap(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The items of a list; none where there is no list. */
export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
