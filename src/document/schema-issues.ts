import type * as z from 'zod';
import type { Finding } from './diagnostics.ts';
import { nearestName, type PathSegment } from './diagnostics.ts';

/** What a schema says about a value, in words that name the remedy. */
export function schemaFindings(schema: z.ZodType, value: unknown, at: readonly PathSegment[]): Finding[] {
  const result = schema.safeParse(value);
  return result.success ? [] : result.error.issues.flatMap((issue) => fromIssue(issue, schema, value, at));
}

/** A value without the parts that its schema refuses, and how to get back to the places in the whole value. */
export interface SoundPart {
  readonly data: unknown;
  /** The path in the whole value of a path in `data`: taking items out of a list moves those behind it. */
  original(path: readonly PathSegment[]): PathSegment[];
}

/**
 * The value as the schema reads it, after taking out the parts that it refuses, innermost first; undefined when nothing
 * is left that it accepts.
 */
export function withoutMistakes(schema: z.ZodType, value: unknown): SoundPart | undefined {
  let rest = value;
  /** Indexes taken out of a list, by the list's original path. */
  const removed = new Map<string, number[]>();
  const original = (path: readonly PathSegment[]): PathSegment[] => {
    const translated: PathSegment[] = [];
    for (const segment of path) {
      let place = segment;
      for (const index of removed.get(JSON.stringify(translated)) ?? []) {
        if (typeof place === 'number' && index <= place) place++;
      }
      translated.push(place);
    }
    return translated;
  };
  // Each round takes at least one part out, and taking one out may uncover that its parent now lacks something.
  for (let round = 0; round < 100; round++) {
    const result = schema.safeParse(rest);
    if (result.success) return { data: result.data, original };
    const paths = result.error.issues.flatMap((issue) => {
      const path = issue.path.filter((segment) => typeof segment !== 'symbol');
      if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
      // A part that is missing makes its parent unusable.
      return [valueAt(rest, path) === undefined ? path.slice(0, -1) : path];
    });
    const distinct = [...new Map(paths.map((path) => [JSON.stringify(path), path])).values()];
    // From the end, so that the indexes of a list stay right while items go.
    for (const path of distinct.sort(byIndexDescending)) {
      const last = path.at(-1);
      if (last === undefined) return undefined;
      const whole = original(path);
      rest = without(rest, path);
      if (typeof last !== 'number') continue;
      const list = JSON.stringify(whole.slice(0, -1));
      removed.set(
        list,
        [...(removed.get(list) ?? []), Number(whole.at(-1))].sort((a, b) => a - b),
      );
    }
  }
  return undefined;
}

function byIndexDescending(a: readonly PathSegment[], b: readonly PathSegment[]): number {
  for (let depth = 0; depth < Math.min(a.length, b.length); depth++) {
    const [left, right] = [a[depth], b[depth]];
    if (typeof left === 'number' && typeof right === 'number' && left !== right) return right - left;
  }
  return b.length - a.length;
}

function without(value: unknown, [segment, ...deeper]: readonly PathSegment[]): unknown {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return deeper.length === 0
      ? items.filter((_, index) => index !== segment)
      : items.map((item, index) => (index === segment ? without(item, deeper) : item));
  }
  if (value === null || typeof value !== 'object') return value;
  const entries: [string, unknown][] = Object.entries(value);
  return Object.fromEntries(
    entries.flatMap(([key, item]): [string, unknown][] => {
      if (key !== segment) return [[key, item]];
      return deeper.length === 0 ? [] : [[key, without(item, deeper)]];
    }),
  );
}

function fromIssue(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown, at: readonly PathSegment[]): Finding[] {
  const inner = issue.path.filter((segment) => typeof segment !== 'symbol');
  const path = [...at, ...inner];
  const found = valueAt(value, inner);
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, inner);
      return issue.keys.map((key) => {
        const near = nearestName(key, known);
        const hint = near === undefined ? listHint(known) : `did you mean "${near}"?`;
        return { path: [...path, key], key, message: 'unknown key', ...(hint === undefined ? {} : { hint }) };
      });
    }
    case 'invalid_type': {
      if (found === undefined) {
        const key = path.at(-1);
        return [{ path: path.slice(0, -1), message: `"${String(key)}" is missing`, hint: `add ${String(key)}` }];
      }
      const expected = issue.message.startsWith('Invalid input')
        ? `expected ${article(issue.expected)}`
        : issue.message;
      return [{ path, message: `${expected}, found ${kindOf(found)}`, ...typeHint(issue.expected, found) }];
    }
    case 'invalid_value': {
      const values = issue.values.map(String);
      const near = typeof found === 'string' ? nearestName(found, values) : undefined;
      const hint = near === undefined ? undefined : `did you mean "${near}"?`;
      const message = `expected ${values.length > 1 ? `one of ${values.join(', ')}` : `${values[0]}`}`;
      return [{ path, message, ...(hint === undefined ? {} : { hint }) }];
    }
    case 'invalid_union':
      return fromUnion(issue, schema, value, at, path);
    case 'invalid_key':
      return [{ path, key: String(path.at(-1)), message: issue.issues[0]?.message ?? 'not a valid key' }];
    case 'too_small':
      if (issue.message.startsWith('Too small') || issue.message.startsWith('Invalid')) {
        return [
          {
            path,
            message:
              issue.origin === 'string' || issue.origin === 'array'
                ? 'must not be empty'
                : `must be at least ${issue.minimum}`,
          },
        ];
      }
      return [{ path, message: issue.message }];
    case 'too_big':
      if (issue.message.startsWith('Too big') || issue.message.startsWith('Invalid')) {
        return [{ path, message: `must be at most ${issue.maximum}` }];
      }
      return [{ path, message: issue.message }];
    default:
      return [{ path, message: issue.message }];
  }
}

/** A union's alternative that fits the value's kind best speaks for it; else the union's own words. */
function fromUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.ZodType,
  value: unknown,
  at: readonly PathSegment[],
  path: readonly PathSegment[],
): Finding[] {
  const closest = issue.errors
    .filter((errors) => errors.every((error) => error.code !== 'invalid_type' || error.path.length > 0))
    .sort((a, b) => a.length - b.length)[0];
  const deep = closest?.filter((error) => error.code !== 'unrecognized_keys') ?? [];
  if (closest === undefined || deep.length === 0) return [{ path, message: issue.message }];
  return deep.flatMap((error) =>
    fromIssue({ ...error, path: [...issue.path, ...error.path] } as z.core.$ZodIssue, schema, value, at),
  );
}

function typeHint(expected: string, found: unknown): { hint?: string } {
  if (expected === 'boolean' && typeof found === 'string' && /^(yes|no|on|off|true|false)$/i.test(found)) {
    return { hint: 'write true or false, without quotes' };
  }
  if (expected === 'string' && (typeof found === 'number' || typeof found === 'boolean')) {
    return { hint: 'write it in quotes' };
  }
  return {};
}

function article(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    object: 'a map',
    record: 'a map',
    array: 'a list',
    int: 'a whole number',
    number: 'a number',
    string: 'a string',
    boolean: 'true or false',
  };
  return names[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return `a ${typeof value}`;
}

function listHint(known: readonly string[]): string | undefined {
  return known.length === 0 || known.length > 12 ? undefined : `known here: ${known.join(', ')}`;
}

function valueAt(value: unknown, path: readonly PathSegment[]): unknown {
  let current = value;
  for (const segment of path) {
    if (Array.isArray(current) && typeof segment === 'number') current = current[segment];
    else if (current !== null && typeof current === 'object')
      current = new Map(Object.entries(current)).get(String(segment));
    else return undefined;
  }
  return current;
}

/** The keys that a schema knows at a path inside it. */
export function keysAt(schema: z.ZodType, path: readonly PathSegment[]): string[] {
  let current: z.core.$ZodType[] = unwrap(schema);
  for (const segment of path) current = current.flatMap((item) => childOf(item, segment)).flatMap(unwrap);
  return [...new Set(current.flatMap((item) => (isObject(item) ? Object.keys(item._zod.def.shape) : [])))];
}

function childOf(schema: z.core.$ZodType, segment: PathSegment): z.core.$ZodType[] {
  if (isObject(schema)) {
    const child = new Map(Object.entries(schema._zod.def.shape)).get(String(segment));
    return child === undefined ? [] : [child];
  }
  const { def } = schema._zod;
  if (def.type === 'array') return [(def as z.core.$ZodArrayDef).element];
  if (def.type === 'record') return [(def as z.core.$ZodRecordDef).valueType];
  return [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  const { def } = schema._zod;
  if (def.type === 'optional') return unwrap((def as z.core.$ZodOptionalDef).innerType);
  if (def.type === 'union') return (def as z.core.$ZodUnionDef).options.flatMap(unwrap);
  return [schema];
}

function isObject(schema: z.core.$ZodType): schema is z.core.$ZodObject {
  return schema._zod.def.type === 'object';
}
