import { createHash, hash as hashOf } from 'node:crypto';
import { lstatSync, readFileSync, type Stats, statSync } from 'node:fs';
import { access, constants, stat as followedStat, open, readFile as read, readdir } from 'node:fs/promises';
import { join } from 'node:path/posix';
import { errnoOf, FileError } from '../file-error.ts';
import type { FileStat } from '../host.ts';
import { PATH_OF_ROOT } from './environment.ts';

/**
 * Up to here a regular file is read in the thread that asks. A call that goes through Node's thread pool costs about 25 µs
 * of CPU, one that does not 3 µs: with 1,000 small files that is the difference between half a second and nothing.
 */
const SMALL_BYTES = 64 * 1024;

/** The bytes of a file, /proc and /sys included; undefined when it does not exist. Throws `FileError`. */
export function readFile(path: string): Promise<Uint8Array | undefined> {
  return unlessAbsent(path, async () => (isSmall(path) ? readFileSync(path) : await read(path)));
}

/** What has no size may be a FIFO, or a file of /proc that waits: never read in this thread. */
function isSmall(path: string): boolean {
  const found = statSync(path);
  return found.isFile() && found.size > 0 && found.size <= SMALL_BYTES;
}

/** The same as UTF-8 text; what is not UTF-8 becomes U+FFFD. */
export async function readText(path: string): Promise<string | undefined> {
  const bytes = await readFile(path);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

/** At most `length` bytes from `position` on; fewer only at the end of the file. */
export function readRange(path: string, position: number, length: number): Promise<Uint8Array | undefined> {
  return unlessAbsent(path, async () => {
    await using file = await open(path);
    const range = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(range, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return range.subarray(0, filled);
  });
}

/** lstat(2); undefined when nothing is there. */
export function stat(path: string): Promise<FileStat | undefined> {
  return unlessAbsent(path, async () => {
    // Absence is not thrown: an error with its stack costs more than ten such calls.
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    return { type: typeOf(found), mode: found.mode & 0o7777, uid: found.uid, gid: found.gid, size: found.size };
  });
}

/** Names in a directory, sorted by code unit; undefined when it does not exist. */
export function list(path: string): Promise<readonly string[] | undefined> {
  return unlessAbsent(path, async () => (await readdir(path)).sort());
}

/** Lower-case hex SHA-256, read in pieces of 1 MiB, so that an image archive of gigabytes fits. */
export function sha256(path: string): Promise<string | undefined> {
  return unlessAbsent(path, async () => {
    if (isSmall(path)) return hashOf('sha256', readFileSync(path));
    await using file = await open(path);
    const hash = createHash('sha256');
    const piece = new Uint8Array(1 << 20);
    for (;;) {
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(piece.subarray(0, bytesRead));
    }
  });
}

/** Absolute path of an executable file, searched where commands of this agent are searched; undefined if none. */
export async function which(program: string): Promise<string | undefined> {
  const candidates = program.includes('/') ? [program] : PATH_OF_ROOT.map((directory) => join(directory, program));
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await followedStat(path)).isFile();
  } catch {
    return false;
  }
}

async function unlessAbsent<T>(path: string, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new FileError('read', path, error);
  }
}

function typeOf(found: Stats): FileStat['type'] {
  if (found.isFile()) return 'file';
  if (found.isDirectory()) return 'directory';
  if (found.isSymbolicLink()) return 'symlink';
  return found.isSocket() ? 'socket' : 'other';
}
