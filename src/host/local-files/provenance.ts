import { closeSync, fstatSync, openSync, readdirSync, readSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { formatMode } from '@machineadm/document/text/units.ts';
import { UnsafePath } from '../files/file-error.ts';
import { isOwnDescriptor } from '../files/paths.ts';
import { type Directory, dropKeptDirectories, O_PATH, procPath } from '../linux/directories.ts';
import { isTrusted } from '../linux/directory-step.ts';
import { openEntry, openFile } from '../linux/entry.ts';
import { sudoCaller } from '../linux/sudo-caller.ts';

// A document decides what root does, so a user who may change it is as powerful as root. Documents must satisfy the
// same rule as sudoers for sudo and authorized_keys for sshd (sudo plugins/sudoers, sudo_secure_path; OpenSSH misc.c,
// safe_path).

/** An input file that controls this program, open for reading. */
export interface Source {
  /** To be iterated, which closes the file. It is read at its own pace, so that a FIFO (`<(command)` of a shell) works too. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Why other users may have written it; undefined when only root and the caller can. */
  readonly distrust: string | undefined;
  /** True where every user of this machine may read it. */
  readonly isPublic: boolean;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const READABLE_BY_ALL = 0o004;
const PIECE_BYTES = 64 * 1024;

let isInsecureAccepted = false;

/** Accept files of any owner in this process: `--insecure-document`. */
export function acceptInsecureSources(): void {
  isInsecureAccepted = true;
}

export function areInsecureSourcesAccepted(): boolean {
  return isInsecureAccepted;
}

/**
 * Opens a file and checks the permissions of its descriptor and of the directories above it. Opening a FIFO waits for
 * its writer. A descriptor that the caller has opened (`/dev/stdin`, `<(command)`) counts as the caller's. Throws the
 * errno.
 */
export async function openSource(path: string): Promise<Source> {
  return await withSource(path, async (itself, provenance) => {
    // Of a regular file nothing is waited for. The other calls load a dozen modules of Node, which takes 4 ms.
    const file = statSync(itself).isFile() ? openSync(itself, 'r') : await open(itself);
    return { pieces: piecesOf(file), ...provenance };
  });
}

async function* piecesOf(file: number | FileHandle): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const piece = new Uint8Array(PIECE_BYTES);
      const length = typeof file === 'number' ? readSync(file, piece) : (await file.read(piece)).bytesRead;
      if (length === 0) return;
      yield piece.subarray(0, length);
    }
  } finally {
    if (typeof file === 'number') closeSync(file);
    else await file.close();
  }
}

/** Why other users may have written a file, without opening it; undefined when none can, or the file does not exist. */
export async function whyFileDistrusted(path: string): Promise<string | undefined> {
  try {
    return await withSource(path, async (_, { distrust }) => distrust);
  } catch {
    // The reader of the file reports why it cannot be read.
    return undefined;
  }
}

/**
 *
 * @param use gets a path that opens exactly the file that was checked
 */
async function withSource<T>(
  path: string,
  use: (itself: string, provenance: Omit<Source, 'pieces'>) => Promise<T>,
): Promise<T> {
  const own = { distrust: undefined, isPublic: false };
  if (process.platform !== 'linux' || isOwnDescriptor(path)) return await use(path, own);
  // What is trusted are the directories as they are now.
  dropKeptDirectories();
  try {
    using entry = openEntry(path, { follow: true });
    const descriptor = openFile(entry, O_PATH);
    try {
      const found = fstatSync(descriptor);
      const distrust = whyDistrusted(found) ?? whyReplaceable(entry.directory, found);
      return await use(procPath(descriptor), { distrust, isPublic: (found.mode & READABLE_BY_ALL) !== 0 });
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (!(error instanceof UnsafePath)) throw error;
    return await use(path, { distrust: error.message, isPublic: false });
  }
}

/**
 * Why other users may add entries to a directory of drop-ins; undefined when only root and the caller can. Throws the
 * errno.
 */
export function whyDirectoryDistrusted(path: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  dropKeptDirectories();
  try {
    using entry = openEntry(`${path}/.`);
    const { stat, parent } = entry.directory;
    return whyDistrusted(stat) ?? (parent === undefined ? undefined : whyReplaceable(parent, stat));
  } catch (error) {
    if (error instanceof UnsafePath) return error.message;
    throw error;
  }
}

/** Names in a directory. Throws the errno; `ENOTDIR` where it is not a directory. */
export function listDirectory(path: string): readonly string[] {
  if (process.platform !== 'linux' || isOwnDescriptor(path)) return readdirSync(path);
  try {
    using entry = openEntry(`${path}/.`);
    return readdirSync(procPath(entry.directory.descriptor));
  } catch (error) {
    // `whyDirectoryDistrusted` reports who may redirect the path.
    if (error instanceof UnsafePath) return readdirSync(path);
    throw error;
  }
}

/** Why other users may replace an entry of a directory, or one of its parents. */
function whyReplaceable(directory: Directory, entry: Stats): string | undefined {
  const { uid, mode } = directory.stat;
  const isKept = (mode & STICKY) !== 0 && isTrustedSource(entry.uid);
  if (!isTrustedSource(uid)) return `a directory above it belongs to the user ${uid}`;
  if ((mode & WRITABLE_BY_OTHERS) !== 0 && !isKept)
    return `others may write to a directory above it (mode ${formatMode(mode)})`;
  return directory.parent === undefined ? undefined : whyReplaceable(directory.parent, directory.stat);
}

function whyDistrusted({ uid, mode }: Stats): string | undefined {
  if (!isTrustedSource(uid)) return `it belongs to the user ${uid}`;
  return (mode & WRITABLE_BY_OTHERS) === 0 ? undefined : `others may write to it (mode ${formatMode(mode)})`;
}

/** Root, this user, and with sudo(8) the invoking user, who can run anything as root anyway. */
function isTrustedSource(uid: number): boolean {
  return isTrusted(uid) || (process.geteuid?.() === 0 && uid === sudoCaller());
}
