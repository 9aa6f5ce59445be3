import { closeSync, fstatSync, readdirSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { formatMode } from '@machineadm/document/units.ts';
import type { Directory } from '../linux/directories.ts';
import { O_PATH, procPath } from '../linux/directories.ts';
import { isTrusted } from '../linux/directory-step.ts';
import { openEntry, openFile } from '../linux/entry.ts';
import { UnsafePath } from './file-error.ts';
import { isOwnDescriptor } from './paths.ts';

// A document says what root does: who may change it is root. So it is held to the rule that sudo has for sudoers and sshd
// for authorized_keys (sudo plugins/sudoers, sudo_secure_path; OpenSSH misc.c, safe_path).

/** A file that decides what this program does, open for reading. */
export interface Source {
  readonly file: FileHandle;
  /** Why others may have written it; undefined when none but root and the caller can. */
  readonly distrust: string | undefined;
  /** True where every user of this machine may read it. */
  readonly isPublic: boolean;
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const READABLE_BY_ALL = 0o004;

let isInsecureAccepted = false;

/** For this process, files are taken from wherever they are: `--insecure-document`. */
export function acceptInsecureSources(): void {
  isInsecureAccepted = true;
}

export function areInsecureSourcesAccepted(): boolean {
  return isInsecureAccepted;
}

/**
 * Opens a file and finds out who may have written it, by the descriptors of the file and of the directories above it. A
 * FIFO is waited for. What the caller has opened himself (`/dev/stdin`, `<(command)`) is his. Throws the errno.
 */
export async function openSource(path: string): Promise<Source> {
  return await withSource(path, async (itself, provenance) => ({ file: await open(itself), ...provenance }));
}

/** Why others may have written a file, without opening it; undefined when none can, or it is not there. */
export async function whyFileDistrusted(path: string): Promise<string | undefined> {
  try {
    return await withSource(path, async (_, { distrust }) => distrust);
  } catch {
    // Whoever reads it says why it cannot be read.
    return undefined;
  }
}

/** @param use gets the path by which to open the very file that was looked at */
async function withSource<T>(
  path: string,
  use: (itself: string, provenance: Omit<Source, 'file'>) => Promise<T>,
): Promise<T> {
  const own = { distrust: undefined, isPublic: false };
  if (process.platform !== 'linux' || isOwnDescriptor(path)) return await use(path, own);
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

/** Why others may add to a directory of drop-ins; undefined when none but root and the caller can. Throws the errno. */
export function whyDirectoryDistrusted(path: string): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    using entry = openEntry(`${path}/.`);
    const { stat, parent } = entry.directory;
    return whyDistrusted(stat) ?? (parent === undefined ? undefined : whyReplaceable(parent, stat));
  } catch (error) {
    if (error instanceof UnsafePath) return error.message;
    throw error;
  }
}

/** Names in a directory. Throws the errno; one that is no directory is `ENOTDIR`. */
export function listDirectory(path: string): readonly string[] {
  if (process.platform !== 'linux' || isOwnDescriptor(path)) return readdirSync(path);
  try {
    using entry = openEntry(`${path}/.`);
    return readdirSync(procPath(entry.directory.descriptor));
  } catch (error) {
    // Who may lead the path elsewhere is told of by `whyDirectoryDistrusted`.
    if (error instanceof UnsafePath) return readdirSync(path);
    throw error;
  }
}

/** Why others may replace an entry of a directory, or one of the directories above it. */
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

/** Root, this user, and behind sudo(8) the user who has called it: what he may have written, he may run as root anyway. */
function isTrustedSource(uid: number): boolean {
  return isTrusted(uid) || (process.geteuid?.() === 0 && uid === sudoCaller());
}

function sudoCaller(): number | undefined {
  const text = process.env.SUDO_UID ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
