import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, UnsafePath } from '../files/file-error.ts';
import { flushDirectory, openDirectory, openEntry, openFile } from '../linux/entry.ts';

// For files that are opened without a host: the journal, the lock, releases, output files of commands. On Linux they
// are reached as root's other files are (linux/entry.ts); on other systems by name.

/** A name in an open directory. The name itself may not exist. */
export interface Place extends Disposable {
  /** The requested path, for messages. */
  readonly path: string;
  /** The path for node:fs; valid until disposal. */
  readonly at: string;
  /** The same for another name in its directory. */
  beside(name: string): string;
  /** Opens the entry, or creates it with `O_CREAT`; a symbolic link is `ELOOP`. */
  open(flags: number, mode?: number): number;
  /** lstat of the entry; undefined when it does not exist. */
  stat(): Stats | undefined;
  /** Makes changes of names in the directory durable (rename(2), fsync(2)). */
  flush(): void;
}

export interface PlaceOptions {
  /** Creates missing directories with this mode, regardless of the umask. */
  readonly create?: number;
  /** Follows a symbolic link at the place itself. */
  readonly follow?: boolean;
  /** Refuses a directory that users other than root and the caller may write to. */
  readonly closed?: boolean;
}

/** Opens the directory of a path. Throws the errno, or `UnsafePath`. */
export function openPlace(path: string, options: PlaceOptions = {}): Place {
  return process.platform === 'linux' ? linuxPlace(path, options) : namedPlace(path, options);
}

/**
 * Creates a directory and its missing parents with this mode, regardless of the umask; an existing one is left as it
 * is.
 */
export function makeDirectories(path: string, mode: number): void {
  if (process.platform === 'linux') openDirectory(path, { create: mode })[Symbol.dispose]();
  else makeNamedDirectories(path, mode);
}

/** The descriptor must be of a regular file: our own files are never links, devices or FIFOs. */
export function requireRegular(descriptor: number, path: string): Stats {
  const found = fstatSync(descriptor);
  if (!found.isFile()) throw new UnsafePath(path, 'is not a regular file');
  return found;
}

function linuxPlace(path: string, options: PlaceOptions): Place {
  const entry = openEntry(path, options);
  return {
    path,
    at: entry.at,
    beside: (name) => join(dirname(entry.at), name),
    open: (flags, mode) => openFile(entry, flags, mode),
    stat: () => lstatSync(entry.at, { throwIfNoEntry: false }),
    flush: () => flushDirectory(entry),
    [Symbol.dispose]: () => entry[Symbol.dispose](),
  };
}

function namedPlace(path: string, { create }: PlaceOptions): Place {
  const directory = dirname(path);
  if (create !== undefined) makeNamedDirectories(directory, create);
  return {
    path,
    at: path,
    beside: (name) => join(directory, name),
    open: (flags, mode) => openSync(path, flags | (constants.O_NOFOLLOW ?? 0), mode),
    stat: () => lstatSync(path, { throwIfNoEntry: false }),
    flush: () => flushNamed(directory),
    [Symbol.dispose]: () => undefined,
  };
}

/** Not with Node's `recursive`, which calls a read-only file system ENOENT (24.21, measured). */
function makeNamedDirectories(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return;
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeNamedDirectories(dirname(path), mode);
    mkdirSync(path, { mode });
  }
  chmodSync(path, mode);
}

/** Windows cannot open a directory; NTFS journals its names. */
function flushNamed(directory: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
