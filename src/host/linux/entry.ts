import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, type Stats } from 'node:fs';
import { formatMode } from '@machineadm/document/text/units.ts';
import { UnsafePath } from '../files/file-error.ts';
import { type Directory, keptDirectory, procPath, release, use } from './directories.ts';
import { isClosed, whyNotFile } from './directory-step.ts';
import { isName, Walk, type WalkOptions } from './walk.ts';

// Paths are resolved here, one component at a time, from open descriptors of directories. The kernel resolves
// /proc/self/fd/N/name relative to descriptor N, like the *at calls, which Node lacks. Replacing a directory by a link
// in the meantime has no effect: the next call uses the directory that was checked. The calls are synchronous: a call
// through Node's thread pool costs eight times the CPU, which is half a second for 1,000 files.

/** A name in an open directory. The name itself may not exist, or be a symbolic link. */
export interface Entry extends Disposable {
  /** The requested path, for messages. */
  readonly path: string;
  readonly directory: Directory;
  /** The path for system calls: `/proc/self/fd/N/name`. Valid until disposal. */
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
  /** Refuses a directory that untrusted users may write to, or whose path they may redirect. */
  readonly closed?: boolean;
}

/** For our own directories: their contents decide what the next run does. */
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
  return walkTo(path, new Walk(path, options));
}

function walkTo(path: string, walk: Walk): Entry {
  try {
    const last = walk.toLast();
    return entryOf(path, walk.directory, last);
  } finally {
    walk.close();
  }
}

/** Opens the directory at a path, links followed, as the entry `.` of itself. */
export function openDirectory(path: string, options: Pick<WalkOptions, 'create'> = {}): Entry {
  return walkTo(path, new Walk(`${path}/.`, options));
}

/** lstat of an entry; undefined when it does not exist. */
export function lstatEntry({ at }: Entry): Stats | undefined {
  return lstatSync(at, { throwIfNoEntry: false });
}

/**
 * Opens the file at an entry. A link is `ELOOP`. Throws `UnsafePath` for one that an untrusted user may have put there.
 */
export function openFile({ at, directory, path }: Entry, flags: number, mode?: number): number {
  // Opening a FIFO for reading would wait for its writer; writing to one is the caller's choice.
  const nonBlocking = (flags & constants.O_WRONLY) === 0 ? constants.O_NONBLOCK : 0;
  const descriptor = openSync(at, flags | constants.O_NOFOLLOW | nonBlocking, mode);
  if (isClosed(directory.stat) && !isOwn(path)) return descriptor;
  try {
    const found = fstatSync(descriptor);
    // Our own files are never directories, devices or FIFOs, which could block for ever.
    const why = isOwn(path) && !found.isFile() ? 'is not a regular file' : whyNotFile(directory.stat, found);
    if (why !== undefined) throw new UnsafePath(path, why);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Makes changes of names in a directory durable (fsync(2)). O_PATH descriptors cannot be flushed. */
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
    directory,
    at: `${procPath(directory.descriptor)}/${name}`,
    [Symbol.dispose]() {
      if (isOpen) release(directory);
      isOpen = false;
    },
  };
}
