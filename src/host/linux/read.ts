import { hash as hashOf } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path/posix';
import { errnoOf, UnsafePath } from '../files/file-error.ts';
import { digestOf, openedFile, readPiece, typeOf, unlessAbsent } from '../files/reading.ts';
import type { FileStat, OpenFile } from '../seam/host.ts';
import { isProcMounted, procPath } from './directories.ts';
import { isOwn, lstatEntry, openDirectory, openEntry, openFile } from './entry.ts';
import { PATH_OF_ROOT } from './environment.ts';

/** Regular files up to this size are read synchronously; larger ones and other types through Node's thread pool. */
const SMALL_BYTES = 64 * 1024;

/** The bytes of a file, /proc and /sys included; undefined when it does not exist. Throws `FileError`. */
export function readFile(path: string): Promise<Uint8Array | undefined> {
  return whole(
    path,
    (descriptor) => readFileSync(descriptor),
    (file) => file.readFile(),
  );
}

/** The same as UTF-8 text; what is not UTF-8 becomes U+FFFD. */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readFile(path);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** At most `length` bytes from `position` on; fewer only at the end of the file. */
export function readRange(path: string, position: number, length: number): Promise<Uint8Array | undefined> {
  return unlessAbsent(path, async () => {
    await using file = await openHandle(path);
    return await readPiece(file, position, length);
  });
}

/** Opens a file of any size for reading; undefined when it does not exist. */
export function openForReading(path: string): Promise<OpenFile | undefined> {
  return unlessAbsent(path, async () => openedFile(await openHandle(path)));
}

/** lstat(2); undefined when the path does not exist. */
export function stat(path: string): Promise<FileStat | undefined> {
  return unlessAbsent(path, async () => {
    // A missing file is not thrown: an error with its stack costs more than ten such calls.
    const found = lstat(path);
    if (found === undefined) return undefined;
    const { dev, ino, mtimeMs, mode, uid, gid, size } = found;
    const fingerprint = `${dev}:${ino}:${mtimeMs}`;
    return { type: typeOf(found), mode: mode & 0o7777, uid, gid, size, fingerprint, modifiedMs: mtimeMs };
  });
}

/** The target of a symbolic link; undefined when the path is not one. */
export function readLink(path: string): Promise<string | undefined> {
  return unlessAbsent(path, async () => {
    if (isOpenedByName(path)) return lstat(path)?.isSymbolicLink() ? readlinkSync(path) : undefined;
    using entry = openEntry(path);
    return lstatEntry(entry)?.isSymbolicLink() ? readlinkSync(entry.at) : undefined;
  });
}

/** Names in a directory, sorted by code unit; undefined when it does not exist. */
export function list(path: string): Promise<readonly string[] | undefined> {
  return unlessAbsent(path, async () => {
    if (isOpenedByName(path)) return readdirSync(path).sort();
    using entry = openDirectory(path);
    return readdirSync(procPath(entry.directory.descriptor)).sort();
  });
}

/** Lower-case hex SHA-256 of a file of any size. */
export function sha256(path: string): Promise<string | undefined> {
  return whole(path, (descriptor) => hashOf('sha256', readFileSync(descriptor)), digestOf);
}

/** Reads a whole file, synchronously where it is small. */
function whole<T>(
  path: string,
  small: (descriptor: number) => T,
  large: (file: FileHandle) => Promise<T>,
): Promise<T | undefined> {
  return unlessAbsent(path, async () => {
    const isByName = isOpenedByName(path);
    if (!isByName || NEVER_BLOCKS.test(path)) {
      const descriptor = isByName ? openSync(path, constants.O_RDONLY) : openFollowed(path);
      try {
        if (isByName || isSmall(fstatSync(descriptor))) return small(descriptor);
      } finally {
        closeSync(descriptor);
      }
    }
    await using file = await openHandle(path);
    return await large(file);
  });
}

/** The kernel's settings and its tables of the network: their size is 0, and they are read many times in a run. */
const NEVER_BLOCKS = /^\/proc\/(?:sys|net)\//;

/** Another file without a size may be a FIFO or block otherwise: never read synchronously. */
function isSmall(found: Stats): boolean {
  return found.isFile() && found.size > 0 && found.size <= SMALL_BYTES;
}

async function openHandle(path: string): Promise<FileHandle> {
  if (isOpenedByName(path)) return await open(path);
  const descriptor = openFollowed(path);
  try {
    return await open(procPath(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a file for reading; follows links that only trusted users can have created. */
function openFollowed(path: string): number {
  try {
    using entry = openEntry(path);
    return openFile(entry, constants.O_RDONLY);
  } catch (error) {
    if (errnoOf(error) !== 'ELOOP') throw error;
    if (isOwn(path)) throw new UnsafePath(path, 'is a symbolic link');
  }
  using entry = openEntry(path, { follow: true });
  return openFile(entry, constants.O_RDONLY);
}

function lstat(path: string): Stats | undefined {
  if (isOpenedByName(path)) return lstatSync(path, { throwIfNoEntry: false });
  using entry = openEntry(path);
  return lstatEntry(entry);
}

/**
 * Paths that are opened by name: the kernel's own trees, in which no user creates names or links (and the text of the
 * links in /proc/PID leads nowhere); those of other systems, where this also reads variables and secrets; and
 * everything in an image without /proc, which can be read but not changed.
 */
function isOpenedByName(path: string): boolean {
  return process.platform !== 'linux' || !isProcMounted() || (/^\/(?:proc|sys)\//.test(path) && !path.includes('/../'));
}

/** Absolute path of an executable file, on the agent's search path for commands; undefined if there is none. */
export async function which(program: string): Promise<string | undefined> {
  const candidates = program.includes('/') ? [program] : PATH_OF_ROOT.map((directory) => join(directory, program));
  for (const candidate of candidates) {
    if (isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    // A missing file is not thrown, as in `stat`.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
