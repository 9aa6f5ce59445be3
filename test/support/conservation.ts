import { type Conversion, type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { formatPath, type PathSegment } from '@machineadm/document/diagnostics/index.ts';
import { parseAllDocuments } from 'yaml';

/** A scalar of an input tree, and where it stands. */
export interface Leaf {
  readonly path: readonly PathSegment[];
  readonly value: unknown;
}

/** Every scalar of a tree. An empty map or list, and null, is none. */
export function leavesOf(tree: unknown, path: readonly PathSegment[] = []): readonly Leaf[] {
  if (Array.isArray(tree)) return tree.flatMap((item, index) => leavesOf(item, [...path, index]));
  if (isMap(tree)) return Object.entries(tree).flatMap(([key, item]) => leavesOf(item, [...path, key]));
  return tree === null || tree === undefined ? [] : [{ path, value: tree }];
}

/** Every map of a tree, the root included. */
export function mapsOf(tree: unknown, path: readonly PathSegment[] = []): readonly (readonly PathSegment[])[] {
  if (Array.isArray(tree)) return tree.flatMap((item, index) => mapsOf(item, [...path, index]));
  if (!isMap(tree)) return [];
  return [path, ...Object.entries(tree).flatMap(([key, item]) => mapsOf(item, [...path, key]))];
}

/** A copy with another value at a path; undefined takes it away. */
export function withValue(tree: unknown, [name, ...below]: readonly PathSegment[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(tree)) {
    const items = tree.map((item, index) => (index === name ? withValue(item, below, value) : item));
    return items.filter((item) => item !== undefined);
  }
  const map = isMap(tree) ? tree : {};
  const changed = withValue(map[name], below, value);
  const { [name]: _old, ...others } = map;
  return changed === undefined ? others : { ...map, [name]: changed };
}

/** An input whose scalars are followed: how it is written, and how the report names a place in it. */
export interface Followed {
  readonly name: string;
  readonly tree: unknown;
  readonly text: (tree: unknown) => string;
  readonly place: (path: readonly PathSegment[]) => string;
  readonly options: ConvertOptions;
}

export function converting(input: Followed, tree: unknown): Promise<Conversion> {
  return convert([{ name: 'input', text: input.text(tree) }], input.options);
}

/** Decisions that speak of all of the part at their place. */
const WHOLE_PARTS = new Set([
  'NotForThisRole',
  'ContainerLinuxConfigDropped',
  'ControllerField',
  'MountUnsupported',
  'ValueFromUnusable',
  'WithoutEffect',
  'InputInvalid',
  'WindowsHost',
  'WindowsPermissions',
]);

/** What became of a scalar: `lost` is what must not be. An error is none: nothing is written then. */
export function fateOf(
  place: string,
  marker: string,
  conversion: Conversion,
): 'written' | 'reported' | 'declared' | 'lost' {
  if (conversion.documents.some(({ yaml }) => textsOf(yaml).some((text) => text.includes(marker)))) return 'written';
  const isReported = conversion.decisions.some(
    ({ at, code }) => at === place || (WHOLE_PARTS.has(code) && isBelow(place, at)),
  );
  if (isReported) return 'reported';
  return conversion.dropped.some(({ at }) => at === place) ? 'declared' : 'lost';
}

function isBelow(place: string, above: string): boolean {
  return place.startsWith(above) && /^(?:[.[]|: |$)/.test(place.slice(above.length));
}

/** Keys and scalars of a document, as texts. */
function textsOf(yaml: string): readonly string[] {
  return parseAllDocuments(yaml).flatMap((document) =>
    leavesOf(document.toJS()).flatMap(({ path, value }) => [...path.map(String), String(value)]),
  );
}

/** All that comes out of a conversion, to compare. */
export function outcomeOf({ documents, decisions }: Conversion): string {
  return JSON.stringify([documents.map(({ yaml }) => yaml), decisions]);
}

export function placeBelow(object: string): (path: readonly PathSegment[]) => string {
  return (path) => (path.length === 0 ? object : `${object}: ${formatPath(path)}`);
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
