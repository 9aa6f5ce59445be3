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
  let left = mounts.toSorted((a, b) => (depth(a) === depth(b) ? 0 : depth(a) - depth(b)));
  const order: Mount[] = [];
  while (left.length > 0) {
    const next = left.find((mount) => !left.some((other) => needsFirst(mount, other)));
    if (next === undefined) return { order: [...order, ...left], circle: left };
    order.push(next);
    left = left.filter((mount) => mount !== next);
  }
  return { order, circle: [] };
}
