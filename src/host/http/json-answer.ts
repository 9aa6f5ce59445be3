import { HttpError } from './error.ts';

/** The answer of a service. Throws `HttpError` that quotes nothing of it, as it may be a secret. */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError('protocol', what, 'it is not JSON');
  }
}

/** A string inside an answer. */
export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  let node = value;
  for (const name of path) {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, name)) return undefined;
    node = Reflect.get(node, name);
  }
  return typeof node === 'string' ? node : undefined;
}
