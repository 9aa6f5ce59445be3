import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { setImmediate } from 'node:timers';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { trustOwnerOfRoot } from './directory-step.ts';

/** open(2): the same on every architecture but alpha, parisc and sparc; Node does not name it. */
export const O_PATH = 0o10000000;
/** Opens a component of a path: whatever it is, without reading it, a symbolic link itself. */
export const COMPONENT_FLAGS = O_PATH | constants.O_NOFOLLOW;

/** A directory that is open, and so are those above it. */
export interface Directory {
  readonly descriptor: number;
  readonly stat: Stats;
  readonly parent: Directory | undefined;
  /** Whether none but trusted users can make the path that led here lead elsewhere. */
  readonly isFixed: boolean;
  /** Entries, directories and walks that use it; it is closed when there is none. */
  users: number;
}

/** The path that means a descriptor itself, whatever it is of (proc_pid_fd(5)). */
export function procPath(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/**
 * Descriptors of directories by their paths, kept until this turn of the event loop ends or a command starts: 1,000 files
 * share few directories. Only of paths that none but trusted users can change. A mount that a command makes or removes
 * is met by the next walk, and no descriptor of ours keeps a file system busy.
 */
const keptDirectories = new Map<string, Directory>();
const MOST_KEPT = 64;
let isDropScheduled = false;

/** Closes what is kept. */
export function dropKeptDirectories(): void {
  for (const directory of keptDirectories.values()) release(directory);
  keptDirectories.clear();
}

/** Keeps a directory when its path is fixed. */
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

/** The closest directory above a path that is kept, with its own path. */
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

/** Whether /proc is there: without it a name below a descriptor looks like one that is missing. */
export function isProcMounted(): boolean {
  isProcThere ||= lstatSync('/proc/self/fd', { throwIfNoEntry: false })?.isDirectory() === true;
  return isProcThere;
}

let isProcThere = false;

function requireProc(): void {
  if (isProcMounted()) return;
  throw new MachineadmError({
    reason: 'PreflightFailed',
    summary: '/proc is not mounted: files cannot be reached in a way that no other user can redirect',
    remedy: 'Mount it with "mount -t proc proc /proc", in a chroot too, and run again.',
    evidence: [{ source: '/proc/self/fd', text: 'does not exist' }],
  });
}
