import { formatPath, type PathSegment, type Place } from '../diagnostics/index.ts';
import { exactly, isFaithful, Verbatim } from '../values/verbatim.ts';

/** A parsed document with the place of each part; several sources merge into one. */
export type Tree = MapTree | ListTree | ScalarTree;

export interface MapTree {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: ReadonlyMap<string, { readonly keyAt: Place; readonly value: Tree }>;
}

export interface ListTree {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly Tree[];
}

export interface ScalarTree {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
  /** A number as written: its value may have lost digits (18446744073692774399) or its type (1.0). */
  readonly number?: string;
}

/** Whether the number at a path is kept verbatim if JavaScript would change it. */
export type KeepsNumber = (path: readonly PathSegment[]) => boolean;

/**
 * The tree as plain data. A number that JavaScript cannot represent is a `Verbatim` where `keeps` says so, by default
 * everywhere; elsewhere the paths of those that lose digits are added to `misfits`.
 */
export function toPlain(tree: Tree, keeps?: KeepsNumber, misfits?: (readonly PathSegment[])[]): unknown {
  const path: PathSegment[] = [];
  const at = (segment: PathSegment, part: Tree): unknown => {
    path.push(segment);
    const plain = visit(part);
    path.pop();
    return plain;
  };
  const visit = (part: Tree): unknown => {
    switch (part.kind) {
      case 'scalar':
        return scalar(part);
      case 'list':
        return part.items.map((item, index) => at(index, item));
      case 'map':
        return withText(Object.fromEntries(Array.from(part.entries, ([key, { value }]) => [key, at(key, value)])));
    }
  };
  const scalar = ({ value, number }: ScalarTree): unknown => {
    if (typeof value !== 'number' || number === undefined) return value;
    if (keeps === undefined || keeps(path)) return exactly(number, value);
    if (isFaithful(number, value)) return value + 0;
    misfits?.push([...path]);
    return new Verbatim(number);
  };
  return visit(tree);
}

/**
 * Such a map has no text and cannot be compared in JavaScript, because of a key `toString`. zod compares values under a
 * key `length`.
 */
function withText(map: object): object {
  if (!Object.hasOwn(map, 'toString') && !Object.hasOwn(map, 'valueOf')) return map;
  return Object.defineProperty(map, Symbol.toPrimitive, { value: () => '[map]' });
}

function exactValue({ value, number }: ScalarTree): ScalarTree['value'] | Verbatim {
  return typeof value === 'number' && number !== undefined ? exactly(number, value) : value;
}

/** The place of the value at a path; for a missing one, of its nearest existing parent. */
export function placeOf(tree: Tree, path: readonly PathSegment[]): Place {
  let current: Tree = tree;
  for (const segment of path) {
    const next: Tree | undefined =
      current.kind === 'map' && typeof segment === 'string'
        ? current.entries.get(segment)?.value
        : current.kind === 'list' && typeof segment === 'number'
          ? current.items[segment]
          : undefined;
    if (next === undefined) return current.at;
    current = next;
  }
  return current.at;
}

/** The place of a key in the map at a path. */
export function placeOfKey(tree: Tree, path: readonly PathSegment[], key: string): Place {
  let current: Tree | undefined = tree;
  for (const segment of path) {
    if (current?.kind === 'map' && typeof segment === 'string') current = current.entries.get(segment)?.value;
    else if (current?.kind === 'list' && typeof segment === 'number') current = current.items[segment];
    else current = undefined;
  }
  const entry = current?.kind === 'map' ? current.entries.get(key) : undefined;
  return entry?.keyAt ?? placeOf(tree, path);
}

/** Every leaf with its path and place, in document order: what `config show --origin` prints. */
export function leaves(
  tree: Tree,
): { readonly path: string; readonly value: ScalarTree['value'] | Verbatim | []; readonly at: Place }[] {
  const found: { path: string; value: ScalarTree['value'] | Verbatim | []; at: Place }[] = [];
  const visit = (node: Tree, path: readonly PathSegment[]) => {
    if (node.kind === 'scalar') found.push({ path: formatPath(path), value: exactValue(node), at: node.at });
    else if (node.kind === 'list') {
      if (node.items.length === 0) found.push({ path: formatPath(path), value: [], at: node.at });
      node.items.forEach((item, index) => {
        visit(item, [...path, index]);
      });
    } else {
      for (const [key, entry] of node.entries) visit(entry.value, [...path, key]);
    }
  };
  visit(tree, []);
  return found;
}
