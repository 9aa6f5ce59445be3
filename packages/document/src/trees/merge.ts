import type { PathSegment, Place, ReplacedPart } from '../diagnostics/index.ts';
import { type ListTree, type MapTree, type Tree, toPlain } from './tree.ts';

/** The fields that identify the entries of the list at a path; undefined for a list without such fields. */
export type EntryKeys = (path: readonly PathSegment[]) => readonly string[] | undefined;

/**
 * Merges the sources of a document in order. Maps merge key by key and lists of things entry by entry, by the fields
 * that identify an entry; scalars and other lists are replaced; null removes what an earlier source set. Every scalar
 * of every source is in the result, or below a part that is reported as replaced.
 */
export function mergeSources(
  sources: readonly MapTree[],
  entryKeys: EntryKeys,
): { readonly tree: MapTree | undefined; readonly replaced: readonly ReplacedPart[] } {
  const merger = new Merger(entryKeys);
  const [first, ...others] = sources;
  const tree = others.reduce<MapTree | undefined>((base, over) => base && merger.maps(base, over), first);
  return { tree, replaced: merger.replaced };
}

class Merger {
  readonly replaced: ReplacedPart[] = [];
  readonly #entryKeys: EntryKeys;
  readonly #path: PathSegment[] = [];

  constructor(entryKeys: EntryKeys) {
    this.#entryKeys = entryKeys;
  }

  maps(base: MapTree, over: MapTree): MapTree {
    const entries = new Map(base.entries);
    for (const [key, { keyAt, value }] of over.entries) {
      const existing = base.entries.get(key)?.value;
      if (isNull(value)) {
        if (existing !== undefined) this.#within(key, () => this.#report(existing, value.at, true));
        entries.delete(key);
      } else if (existing === undefined) {
        const added = withoutNulls(value);
        if (added !== undefined) entries.set(key, { keyAt, value: added });
      } else entries.set(key, { keyAt, value: this.#within(key, () => this.#trees(existing, value)) });
    }
    return { kind: 'map', at: base.at, entries };
  }

  #trees(base: Tree, over: Tree): Tree {
    if (base.kind === 'map' && over.kind === 'map') return this.maps(base, over);
    const keys = base.kind === 'list' && over.kind === 'list' ? this.#entryKeys(this.#path) : undefined;
    if (keys !== undefined && base.kind === 'list' && over.kind === 'list') return this.#lists(base, over, keys);
    const replacing = withoutNulls(over) ?? over;
    this.#reportReplaced(base, replacing);
    return replacing;
  }

  #reportReplaced(base: Tree, ...replacing: readonly Tree[]): void {
    const [first] = replacing;
    if (first === undefined || replacing.some((one) => sameText(one, base))) return;
    this.#report(base, first.at, false);
  }

  /** A part merged from several sources is reported by its parts. */
  #report(part: Tree, at: Place, isRemoved: boolean): void {
    if (isNull(part)) return;
    if (part.kind === 'scalar' || isOfOneSource(part)) {
      const what = part.kind === 'scalar' ? 'value' : part.kind === 'list' ? 'list' : 'section';
      const isEmpty = part.kind !== 'scalar' && childrenOf(part).length === 0;
      if (!isEmpty) this.replaced.push({ path: [...this.#path], what, isRemoved, at, previous: part.at });
      return;
    }
    for (const [segment, child] of childrenOf(part)) this.#within(segment, () => this.#report(child, at, isRemoved));
  }

  /**
   * Entries with the same key: one of each source merge; if a source has several, the later source's replace the
   * earlier ones.
   */
  #lists(base: ListTree, over: ListTree, keys: readonly string[]): ListTree {
    const later = grouped(over, keys);
    const earlier = grouped(base, keys);
    const items: Tree[] = [];
    const done = new Set<string>();
    for (const [index, item] of base.items.entries()) {
      const key = keyOf(item, keys) ?? `${index}`;
      const replacing = later.get(key);
      if (replacing === undefined) items.push(item);
      else if (!done.has(key)) {
        done.add(key);
        const [only] = replacing;
        const isPair = replacing.length === 1 && earlier.get(key)?.length === 1;
        if (isPair && only !== undefined) items.push(this.#within(index, () => this.#trees(item, only)));
        else items.push(...replacing.map((one) => withoutNulls(one) ?? one));
      }
      const isReplaced = replacing !== undefined && (replacing.length > 1 || (earlier.get(key)?.length ?? 0) > 1);
      if (isReplaced) this.#within(index, () => this.#reportReplaced(item, ...replacing));
    }
    for (const item of over.items) {
      const key = keyOf(item, keys);
      if (key === undefined || !done.has(key)) items.push(withoutNulls(item) ?? item);
    }
    return { kind: 'list', at: base.at, items };
  }

  #within<Result>(segment: PathSegment, work: () => Result): Result {
    this.#path.push(segment);
    const result = work();
    this.#path.pop();
    return result;
  }
}

function grouped(list: ListTree, keys: readonly string[]): ReadonlyMap<string, readonly Tree[]> {
  const groups = new Map<string, Tree[]>();
  for (const item of list.items) {
    const key = keyOf(item, keys);
    const group = key === undefined ? undefined : groups.get(key);
    if (group !== undefined) group.push(item);
    else if (key !== undefined) groups.set(key, [item]);
  }
  return groups;
}

/** The identity of an entry: its first identifying field; undefined without one. */
function keyOf(item: Tree, keys: readonly string[]): string | undefined {
  if (item.kind !== 'map') return undefined;
  for (const key of keys) {
    const parts = key.split('+').map((name) => item.entries.get(name)?.value);
    if (parts[0] === undefined || isNull(parts[0])) continue;
    return JSON.stringify([key, ...parts.map((part) => (part === undefined ? null : sorted(toPlain(part))))]);
  }
  return undefined;
}

/** The fields of a device may be in any order. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

function childrenOf(tree: MapTree | ListTree): readonly (readonly [PathSegment, Tree])[] {
  if (tree.kind === 'list') return Array.from(tree.items.entries());
  return Array.from(tree.entries, ([key, { value }]) => [key, value] as const);
}

function isOfOneSource(tree: Tree): boolean {
  const { file } = tree.at;
  const isOfIt = (part: Tree): boolean =>
    part.at.file === file && (part.kind === 'scalar' || childrenOf(part).every(([, child]) => isOfIt(child)));
  return isOfIt(tree);
}

function sameText(a: Tree, b: Tree): boolean {
  return JSON.stringify(toPlain(a)) === JSON.stringify(toPlain(b));
}

function isNull(tree: Tree): boolean {
  return tree.kind === 'scalar' && tree.value === null;
}

/** A part that only a later source has: null removes nothing there. undefined if nothing else is in it. */
function withoutNulls(tree: Tree): Tree | undefined {
  if (tree.kind !== 'map' || tree.entries.size === 0) return tree;
  const kept = [...tree.entries].flatMap(([key, { keyAt, value }]) => {
    const rest = isNull(value) ? undefined : withoutNulls(value);
    return rest === undefined ? [] : [[key, { keyAt, value: rest }] as const];
  });
  return kept.length === 0 ? undefined : { ...tree, entries: new Map(kept) };
}
