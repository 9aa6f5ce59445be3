/** A property of an untrusted value; undefined where it is not an object or has no such property. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** An untrusted value as a string; undefined for other types. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An untrusted value as a number; undefined for other types. */
export function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The strings in an untrusted list; none in a value of another type. */
export function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A string in nested untrusted objects, by its path. */
export function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  return text(path.reduce<unknown>((object, name) => member(object, name), value));
}

/** A string, number or boolean as text; undefined for everything else: an object may have no text at all. */
export function scalar(value: unknown): string | undefined {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
