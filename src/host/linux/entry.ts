import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, type Stats } from 'node:fs';
import { formatMode } from '@machineadm/document/units.ts';
import { UnsafePath } from '../files/file-error.ts';
import { type Directory, keptDirectory, procPath, release, use } from './directories.ts';
import { isClosed, whyNotFile } from './directory-step.ts';
import { isName, Walk, type WalkOptions } from './walk.ts';

// Paths are resolved here, one component at a time, from descriptors of directories that stay open. The kernel resolves
// /proc/self/fd/N/name relative to descriptor N, as the *at calls do that Node lacks. Whoever exchanges a directory for a
// link meanwhile changes nothing: the next call happens in the directory that was checked. The calls are synchronous: a
// call through Node's thread pool costs eight times the CPU, which with 1,000 files of a document is half a second.

/** A name in a directory that is open. The name itself may be missing, or a symbolic link. */
export interface Entry extends Disposable {
  /** As it was asked for, for messages. */
  readonly path: string;
  readonly name: string;
  readonly directory: Directory;
  /** The path by which to reach it: `/proc/self/fd/N/name`. Good until it is disposed of. */
  readonly at: string;
}

/** Opens the directory of a path and returns its last component there. Throws the errno, or `UnsafePath`. */
export function openEntry(path: string, options: EntryOptions = {}): Entry {
  const entry = resolve(path, options);
  const { directory } = entry;
  if ((options.closed !== true && !isOwn(path)) || (directory.isFixed && isClosed(directory.stat))) return entry;
  entry[Symbol.dispose]();
  const where = path.slice(0, path.lastIndexOf('/')) || '/';
  throw new UnsafePath(where, `may be changed by others than root: ${describe(directory)}`);
}

export interface EntryOptions extends WalkOptions {
  /** Refuses a directory that others than trusted users may write to, or whose path they may lead elsewhere. */
  readonly closed?: boolean;
}

/** Our own directories: what is in them decides what the next run does. */
const OWN = /^\/(?:run|var\/lib)\/machineadm\//;

export function isOwn(path: string): boolean {
  return OWN.test(path);
}

function describe({ stat, isFixed }: Directory): string {
  const owner = `owner ${stat.uid}, mode ${formatMode(stat.mode)}`;
  return isFixed ? owner : `${owner}, below a directory of another user`;
}

function resolve(path: string, options: WalkOptions): Entry {
  const slash = path.lastIndexOf('/');
  const kept = options.follow === true ? undefined : keptDirectory(path.slice(0, slash));
  const name = path.slice(slash + 1);
  if (kept !== undefined && isName(name)) return entryOf(path, kept, name);
  const walk = new Walk(path, options);
  try {
    const last = walk.toLast();
    return entryOf(path, walk.directory, last);
  } finally {
    walk.close();
  }
}

/** Opens the directory at a path, links followed, as the entry `.` of itself. */
export function openDirectory(path: string, options: Pick<WalkOptions, 'create'> = {}): Entry {
  const walk = new Walk(`${path}/.`, options);
  try {
    const last = walk.toLast();
    return entryOf(path, walk.directory, last);
  } finally {
    walk.close();
  }
}

/** What is at an entry; undefined when nothing is. A link itself. */
export function lstatEntry({ at }: Entry): Stats | undefined {
  return lstatSync(at, { throwIfNoEntry: false });
}

/** Opens the file at an entry. A link is `ELOOP`. Throws `UnsafePath` for one that another user may have put there. */
export function openFile({ at, directory, path }: Entry, flags: number, mode?: number): number {
  // Opening a FIFO to read would wait for its other end; one that is written to is the caller's choice.
  const nonBlocking = (flags & constants.O_WRONLY) === 0 ? constants.O_NONBLOCK : 0;
  const descriptor = openSync(at, flags | constants.O_NOFOLLOW | nonBlocking, mode);
  if (isClosed(directory.stat) && !isOwn(path)) return descriptor;
  try {
    const found = fstatSync(descriptor);
    // Our own files are no directories, devices or FIFOs, whose reader would wait for ever.
    const why = isOwn(path) && !found.isFile() ? 'is not a regular file' : whyNotFile(directory.stat, found);
    if (why !== undefined) throw new UnsafePath(path, why);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Makes the names of a directory survive a crash of the machine (fsync(2)). O_PATH descriptors cannot be flushed. */
export function flushDirectory({ directory }: Entry): void {
  const descriptor = openSync(procPath(directory.descriptor), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function entryOf(path: string, directory: Directory, name: string): Entry {
  use(directory);
  let isOpen = true;
  return {
    path,
    name,
    directory,
    at: `${procPath(directory.descriptor)}/${name}`,
    [Symbol.dispose]() {
      if (isOpen) release(directory);
      isOpen = false;
    },
  };
}
