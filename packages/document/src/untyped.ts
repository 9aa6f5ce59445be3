/** A member of an object that came from outside; undefined when it is not an object or has no such member. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** A string that came from outside; undefined when it is something else. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A string within objects that came from outside, by the names that lead to it. */
export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  return text(path.reduce<unknown>((object, name) => member(object, name), value));
}

/** A text, a number or a truth value as text; undefined for everything else: a map need not even have a text. */
export function scalar(value: unknown): string | undefined {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
