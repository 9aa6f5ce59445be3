import type { Claim } from './claim.ts';
import type { StepId } from './step-ids.ts';

/** Two claims on one path, in the order of the table; `how` explains the conflict. */
export interface Collision {
  readonly first: Claim;
  readonly second: Claim;
  readonly how:
    | 'same file'
    | 'lines of a file that is replaced'
    | 'file and directory'
    | 'hidden by the mount'
    | 'removed with its directory';
}

/** A claim with its comparison path. */
interface Placed {
  readonly claim: Claim;
  readonly path: string;
}

/**
 * Directories that are links on every Linux system (FHS 3.0; systemd's file-hierarchy(7)): two names for one place.
 * /lib, /bin and /sbin are not included, because they are real directories on Alpine: a run checks these.
 */
const LINKED_DIRECTORIES: readonly (readonly [link: string, target: string])[] = [
  ['/var/run', '/run'],
  ['/var/lock', '/run/lock'],
];

/**
 * The canonical form of an absolute path: without doubled and trailing slashes and `.`, and with known links resolved.
 */
export function canonicalPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const plain = `/${parts.join('/')}`;
  const link = LINKED_DIRECTORIES.find(([from]) => plain === from || plain.startsWith(`${from}/`));
  return link === undefined ? plain : `${link[1]}${plain.slice(link[0].length)}`;
}

/**
 * Pairs of conflicting claims: each run would repeat both changes. Steps that own lines of a file share it.
 *
 * @param pathOf the comparison path of a claim; by default its canonical form
 */
export function collisionsOf(
  claims: readonly Claim[],
  pathOf: (claim: Claim) => string = ({ path }) => canonicalPath(path),
): readonly Collision[] {
  const placed = claims.map((claim) => ({ claim, path: pathOf(claim) }));
  const single = placed.filter(({ claim: { kind } }) => kind !== 'names' && kind !== 'tree');
  const groups = placed.filter(({ claim: { kind } }) => kind === 'names' || kind === 'tree');
  const found = [...onOnePath(single), ...inDirectories(single, groups), ...beneath(single), ...hiddenBy(placed)];
  return found.filter(({ first, second }) => first !== second);
}

function onOnePath(single: readonly Placed[]): Collision[] {
  const byPath = new Map<string, Claim[]>();
  const found: Collision[] = [];
  for (const { claim, path } of single) {
    const others = byPath.get(path) ?? [];
    const other = others.find((earlier) => !shares(earlier, claim));
    if (other !== undefined) found.push({ first: other, second: claim, how: howOnOnePath(other, claim) });
    byPath.set(path, [...others, claim]);
  }
  return found;
}

/**
 * Whether two claims on one path are compatible. Two entries of `host.files` are not: only one of them defines the
 * content.
 */
function shares(a: Claim, b: Claim): boolean {
  if (a.kind === 'directory' || b.kind === 'directory') {
    return a.kind === b.kind
      ? a.step === b.step
      : (a.kind === 'mount' || b.kind === 'mount') && !isRemoved(a) && !isRemoved(b);
  }
  const bothLines = a.kind === 'lines' && b.kind === 'lines';
  return a.step === b.step ? bothLines && a.step !== 'files' : bothLines;
}

/** The directory that the document removes. */
function isRemoved({ step, kind }: Claim): boolean {
  return step === 'removals' && kind === 'directory';
}

function howOnOnePath(a: Claim, b: Claim): Collision['how'] {
  if (isRemoved(a) || isRemoved(b)) return 'same file';
  if (a.kind === 'directory' || b.kind === 'directory') return a.kind === b.kind ? 'same file' : 'file and directory';
  if (a.kind === 'mount' || b.kind === 'mount') return a.kind === b.kind ? 'same file' : 'file and directory';
  return a.kind === 'lines' || b.kind === 'lines' ? 'lines of a file that is replaced' : 'same file';
}

function inDirectories(single: readonly Placed[], groups: readonly Placed[]): Collision[] {
  return groups.flatMap((group) =>
    single.flatMap(({ claim, path }) =>
      claim.step !== group.claim.step && claim.kind !== 'mount' && holds(group, path)
        ? [{ first: group.claim, second: claim, how: 'same file' as const }]
        : [],
    ),
  );
}

function holds({ claim: { kind, names }, path: directory }: Placed, path: string): boolean {
  if (!path.startsWith(`${directory}/`)) return false;
  const rest = path.slice(directory.length + 1);
  return kind === 'tree' || names?.test(rest) === true;
}

/** A file where a directory must be, and what is in a directory that is removed. */
function beneath(single: readonly Placed[]): Collision[] {
  const above = new Map(single.map((placed) => [placed.path, placed.claim]));
  return single.flatMap(({ claim, path }) => {
    const found: Collision[] = [];
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const other = above.get(path.slice(0, end));
      if (other === undefined) continue;
      if (other.kind === 'directory') {
        if (isRemoved(other) && claim.step !== other.step)
          found.push({ first: other, second: claim, how: 'removed with its directory' });
      } else if (other.kind !== 'mount') found.push({ first: other, second: claim, how: 'file and directory' });
    }
    return found;
  });
}

/** What is written below a mount point before the mount. One path of each step is enough to show it. */
function hiddenBy(placed: readonly Placed[]): Collision[] {
  const early = placed.filter(({ claim: { kind, step } }) => kind !== 'mount' && BEFORE_MOUNTS.has(step));
  return placed.flatMap(({ claim: second, path: point }) => {
    if (second.kind !== 'mount') return [];
    const told = new Set<Claim['step']>();
    return early.flatMap(({ claim: first, path }): Collision[] => {
      const isBelow = path.startsWith(`${point}/`) || (first.kind === 'names' && path === point);
      if (!isBelow || told.has(first.step)) return [];
      told.add(first.step);
      return [{ first, second, how: 'hidden by the mount' }];
    });
  });
}

/** Steps that write before file systems are mounted. A test compares it with the order of the pipeline. */
export const BEFORE_MOUNTS: ReadonlySet<StepId | 'machineadm'> = new Set<StepId | 'machineadm'>([
  'machineadm',
  'hooks-boot',
  'hostname',
  'hosts',
  'network',
  'timezone',
  'selinux',
  'apparmor',
  'time',
  'proxy',
  'certificate-authorities',
  'kernel-modules',
  'sysctl',
  'limits',
  'swap',
]);
