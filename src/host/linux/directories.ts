import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { setImmediate } from 'node:timers';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { trustOwnerOfRoot } from './directory-step.ts';

/** open(2): the same on every architecture except alpha, parisc and sparc; Node has no constant for it. */
export const O_PATH = 0o10000000;
/** Opens any component of a path without reading it; a symbolic link itself. */
export const COMPONENT_FLAGS = O_PATH | constants.O_NOFOLLOW;

/** An open directory with its open ancestors. */
export interface Directory {
  readonly descriptor: number;
  readonly stat: Stats;
  readonly parent: Directory | undefined;
  /** Whether only trusted users can redirect the path to this directory. */
  readonly isFixed: boolean;
  /** Number of entries, directories and walks that use it; it is closed at 0. */
  users: number;
}

/** A path that refers to the descriptor itself, whatever its type (proc_pid_fd(5)). */
export function procPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/**
 * A cache of directory descriptors by path, kept until the end of this turn of the event loop or the start of a
 * command: 1,000 files share few directories. It contains only paths that untrusted users cannot change. The next walk
 * sees a mount that a command has made or removed, and our descriptors never keep a file system busy.
 */
const keptDirectories = new Map<string, Directory>();
const MOST_KEPT = 64;
let isDropScheduled = false;

export function dropKeptDirectories(): void {
  for (const directory of keptDirectories.values()) release(directory);
  keptDirectories.clear();
}

/** Keeps a directory whose path only trusted users can change. */
export function keep(path: string, directory: Directory): void {
  if (!directory.isFixed || keptDirectories.has(path)) return;
  if (keptDirectories.size >= MOST_KEPT) dropKeptDirectories();
  keptDirectories.set(path, use(directory));
  if (isDropScheduled) return;
  isDropScheduled = true;
  setImmediate(() => {
    isDropScheduled = false;
    dropKeptDirectories();
  });
}

/** The closest cached ancestor of a path, with its own path. */
export function closestKept(path: string): readonly [string, Directory] | undefined {
  if (path.includes('/..')) return undefined;
  for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
    const above = path.slice(0, end);
    const directory = keptDirectories.get(above);
    if (directory !== undefined) return [above, directory];
    if (end === 0) break;
  }
  return undefined;
}

export function use(directory: Directory): Directory {
  directory.users += 1;
  return directory;
}

export function release(directory: Directory): void {
  directory.users -= 1;
  if (directory.users > 0) return;
  closeSync(directory.descriptor);
  if (directory.parent !== undefined) release(directory.parent);
}

export function keptDirectory(path: string): Directory | undefined {
  return keptDirectories.get(path);
}

/** Opens `/`. Throws `PreflightFailed` without /proc. */
export function openRoot(): Directory {
  const kept = keptDirectories.get('');
  if (kept !== undefined) return use(kept);
  requireProc();
  const descriptor = openSync('/', COMPONENT_FLAGS);
  const stat = fstatSync(descriptor);
  trustOwnerOfRoot(stat.uid);
  const root: Directory = { descriptor, stat, parent: undefined, isFixed: true, users: 1 };
  keep('', root);
  return root;
}

/** Whether /proc is mounted: without it every name below a descriptor would seem to be missing. */
export function isProcMounted(): boolean {
  isProcThere ||= lstatSync('/proc/self/fd', { throwIfNoEntry: false })?.isDirectory() === true;
  return isProcThere;
}

let isProcThere = false;

function requireProc(): void {
  if (isProcMounted()) return;
  throw new MachineadmError({
    reason: 'PreflightFailed',
    summary: '/proc is not mounted: without it, another user could redirect access to files',
    remedy: 'Mount it with "mount -t proc proc /proc", in a chroot too, and run again.',
    evidence: [{ source: '/proc/self/fd', text: 'does not exist' }],
  });
}
