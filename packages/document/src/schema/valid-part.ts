import type * as z from 'zod';
import type { PathSegment } from '../diagnostics/index.ts';
import { REFUSED, take } from './zod.ts';

/** A value without the parts that its schema refuses, and the mapping to the places in the whole value. */
export interface ValidPart {
  readonly data: unknown;
  /** The path in the whole value for a path in `data`: removed list items shift later ones. */
  original(path: readonly PathSegment[]): PathSegment[];
}

/** The parts to remove from a value: the whole of it, or parts of its parts. */
interface Removal {
  isWhole: boolean;
  readonly parts: Map<PathSegment, Removal>;
}

/**
 * Each round removes a part, after which its parent may be incomplete: at most as many rounds as the schema is deep.
 */
const MOST_ROUNDS = 30;

/**
 * The parsed value, after removing the parts that its schema refuses, innermost first; undefined when nothing valid is
 * left.
 */
export function stripInvalid(schema: z.ZodType, value: unknown): ValidPart | undefined {
  const taken = take(schema, value);
  if (taken !== REFUSED) return { data: taken, original: (path) => [...path] };
  const rounds: Removal[] = [];
  let rest = value;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const result = schema.safeParse(rest);
    if (result.success) return { data: result.data, original: (path) => originalPath(path, rounds) };
    const removal: Removal = { isWhole: false, parts: new Map() };
    for (const path of refusedParts(result.error.issues, rest)) mark(removal, path);
    if (removal.isWhole) return undefined;
    rounds.push(removal);
    rest = without(rest, removal);
  }
  return undefined;
}

function* refusedParts(issues: readonly z.core.$ZodIssue[], value: unknown): Generator<readonly PathSegment[]> {
  for (const issue of issues) {
    const path = issue.path.filter((segment) => typeof segment !== 'symbol');
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) yield [...path, key];
    // A missing part makes its parent invalid.
    else yield valueAt(value, path) === undefined ? path.slice(0, -1) : path;
  }
}

function mark(removal: Removal, path: readonly PathSegment[]): void {
  let part = removal;
  for (const segment of path) {
    const child = part.parts.get(segment) ?? { isWhole: false, parts: new Map() };
    part.parts.set(segment, child);
    part = child;
  }
  part.isWhole = true;
}

/** Innermost parts first: their parents may be valid without them. */
function without(value: unknown, removal: Removal): unknown {
  const isGone = (segment: PathSegment): boolean => {
    const part = removal.parts.get(segment);
    return part?.isWhole === true && part.parts.size === 0;
  };
  const kept = (segment: PathSegment, part: unknown): unknown => {
    const inner = removal.parts.get(segment);
    return inner === undefined ? part : without(part, inner);
  };
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return items.flatMap((item, index) => (isGone(index) ? [] : [kept(index, item)]));
  }
  if (value === null || typeof value !== 'object') return value;
  const entries: [string, unknown][] = Object.entries(value);
  return Object.fromEntries(entries.flatMap(([key, item]) => (isGone(key) ? [] : [[key, kept(key, item)]])));
}

/** Maps a path back through the rounds: an index grows by the number of items removed before it. */
function originalPath(path: readonly PathSegment[], rounds: readonly Removal[]): PathSegment[] {
  let translated = [...path];
  for (const round of rounds.toReversed()) {
    let removal: Removal | undefined = round;
    translated = translated.map((segment) => {
      const place: PathSegment = typeof segment === 'number' ? originalIndex(segment, removal) : segment;
      removal = removal?.parts.get(place);
      return place;
    });
  }
  return translated;
}

const REMOVED = new WeakMap<Removal, readonly number[]>();

function originalIndex(index: number, removal: Removal | undefined): number {
  if (removal === undefined) return index;
  let removed = REMOVED.get(removal);
  if (removed === undefined) {
    removed = [...removal.parts]
      .flatMap(([segment, part]) =>
        typeof segment === 'number' && part.isWhole && part.parts.size === 0 ? [segment] : [],
      )
      .sort((a, b) => a - b);
    REMOVED.set(removal, removed);
  }
  // The first of the removed indexes after ours: each one before it shifts ours by one.
  let [low, high] = [0, removed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((removed[middle] ?? 0) - middle <= index) low = middle + 1;
    else high = middle;
  }
  return index + low;
}

/** The value at a path; undefined for a missing one. */
export function valueAt(value: unknown, path: readonly PathSegment[]): unknown {
  let current = value;
  for (const segment of path) {
    if (current === null || typeof current !== 'object' || !Object.hasOwn(current, segment)) return undefined;
    current = Reflect.get(current, segment);
  }
  return current;
}
