/** What the order of mounts depends on. */
interface Ordered {
  /** `none` for swap. */
  readonly path: string;
  /** A directory or file of this machine, or anything else. */
  readonly source?: string | undefined;
}

/** Whether a path is at or below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory === '/' ? '' : directory}/`);
}

/** Whether a mount must be made after another: it is mounted below it, or its source is on it. */
export function needsFirst(mount: Ordered, other: Ordered): boolean {
  if (mount === other || other.path === 'none') return false;
  const isDeeper = mount.path !== other.path && isBelow(mount.path, other.path);
  return isDeeper || (mount.source !== undefined && isBelow(mount.source, other.path));
}

/** The directories in which a path is, itself among them if wanted: `/a/b` is in `/` and `/a`. */
function placesOf(path: string, withItself: boolean): readonly string[] {
  const places = path === '/' ? [] : ['/'];
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) places.push(path.slice(0, end));
  return withItself ? [...places, path] : places;
}

/** The mounts that each mount needs first (`needsFirst`), by index; without comparing each with all. */
function needsOf(mounts: readonly Ordered[]): readonly ReadonlySet<number>[] {
  const byPath = new Map<string, number[]>();
  for (const [index, { path }] of mounts.entries()) {
    if (path === 'none') continue;
    const same = byPath.get(path);
    if (same === undefined) byPath.set(path, [index]);
    else same.push(index);
  }
  return mounts.map(({ path, source }, index) => {
    const places = [
      ...(path === 'none' ? [] : placesOf(path, false)),
      ...(source?.startsWith('/') === true ? placesOf(source, true) : []),
    ];
    return new Set(places.flatMap((place) => byPath.get(place) ?? []).filter((other) => other !== index));
  });
}

/**
 * The mounts in the order in which they are made: each after those that it needs, else by the depth of its mount point, then
 * as the document has them; swap last. `circle`: those that need each other, which no order can satisfy.
 */
export function mountOrder<Mount extends Ordered>(
  mounts: readonly Mount[],
): { readonly order: readonly Mount[]; readonly circle: readonly Mount[] } {
  const depth = ({ path }: Mount): number =>
    path === 'none' ? Number.POSITIVE_INFINITY : path.split('/').filter((part) => part !== '').length;
  // Infinity − Infinity is not a number: two swap areas stay as they are.
  const sorted = mounts.toSorted((a, b) => (depth(a) === depth(b) ? 0 : depth(a) - depth(b)));
  const needs = needsOf(sorted);
  const dependents = sorted.map((): number[] => []);
  for (const [index, those] of needs.entries()) for (const other of those) dependents[other]?.push(index);
  const missing = needs.map(({ size }) => size);
  const isDone = sorted.map(() => false);
  const order: Mount[] = [];
  for (let index = 0; index < sorted.length; ) {
    const mount = sorted[index];
    if (mount === undefined || isDone[index] === true || (missing[index] ?? 0) > 0) {
      index++;
      continue;
    }
    isDone[index] = true;
    order.push(mount);
    let next = index + 1;
    for (const other of dependents[index] ?? []) {
      missing[other] = (missing[other] ?? 0) - 1;
      // One that comes before this one may have waited for it alone.
      if (missing[other] === 0) next = Math.min(next, other);
    }
    index = next;
  }
  const circle = sorted.filter((_, index) => isDone[index] !== true);
  return { order: [...order, ...circle], circle };
}
