import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf, FileError, type FileOperation, fileError, UnsafePath } from '../files/file-error.ts';
import type { CommandResult, NewFile, StreamedFile } from '../seam/host.ts';
import { runCommand } from './commands.ts';
import { dropKeptDirectories, O_PATH, procPath } from './directories.ts';
import { whyNotInto, whyNotThrough } from './directory-step.ts';
import { type Entry, flushDirectory, lstatEntry, openDirectory, openEntry, openFile } from './entry.ts';
import { errno } from './walk.ts';

const LONGEST_NAME = 255;
const SETUID_OR_SETGID = 0o6000;

/**
 * Writes a file by rename: readers see the old file or the complete new one. It is created empty with 0600, then gets
 * its owner, its mode and its content, so a secret is never readable beyond its final owner and mode. Survives a crash
 * of the machine only after `sync`. Throws `FileError` (`DiskFull`, `ReadOnlyFilesystem`, …).
 */
export async function writeFile(file: NewFile | StreamedFile): Promise<void> {
  const { path } = file;
  await attempt('write', path, async () => {
    using entry = openEntry(path, { create: file.directoryMode ?? 0o755 });
    refuseLink(entry);
    const temporary = temporaryName(entry.at);
    try {
      await fill(temporary, file);
      renameSync(temporary, entry.at);
    } catch (error) {
      // A failed write must not leave a file that fills the disk. Its removal can fail for the same cause, which is
      // thrown already.
      removeQuietly(temporary);
      throw error;
    }
  });
}

/**
 * Creates a symbolic link by rename: readers find the previous entry, or the link. Never replaces a directory. Throws
 * `FileError`.
 */
export async function writeLink(path: string, target: string): Promise<void> {
  await attempt('write', path, async () => {
    using entry = openEntry(path, { create: 0o755 });
    const temporary = temporaryName(entry.at);
    removeQuietly(temporary);
    symlinkSync(target, temporary);
    try {
      renameSync(temporary, entry.at);
    } catch (error) {
      removeQuietly(temporary);
      throw error;
    }
  });
}

/** Gives a file a second name; false where the file systems do not. Throws `FileError`. */
export async function linkFile(path: string, to: string): Promise<boolean> {
  let isLinked = true;
  await attempt('write', to, async () => {
    using source = openEntry(path);
    using target = openEntry(to, { create: 0o700 });
    const temporary = temporaryName(target.at);
    removeQuietly(temporary);
    try {
      linkSync(source.at, temporary);
      renameSync(temporary, target.at);
    } catch (error) {
      isLinked = false;
      if (!/^(?:EXDEV|EPERM|EMLINK|EOPNOTSUPP)$/.test(errnoOf(error) ?? '')) throw error;
    } finally {
      // Where both names are of one file already, a rename does nothing (rename(2)).
      removeQuietly(temporary);
    }
  });
  return isLinked;
}

/** Removes a file or a symbolic link itself; does nothing when it does not exist. Throws `FileError`. */
export async function removeFile(path: string): Promise<void> {
  await remove(path, ({ at }) => unlinkSync(at));
}

/** Removes an empty directory; nothing happens when it is not there. Throws `FileError`, `ENOTEMPTY` among them. */
export async function removeDirectory(path: string): Promise<void> {
  await remove(path, ({ at }) => {
    dropKeptDirectories();
    rmdirSync(at);
  });
}

async function remove(path: string, unlink: (entry: Entry) => void): Promise<void> {
  await attempt('remove', path, async () => {
    try {
      using entry = openEntry(path);
      unlink(entry);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  });
}

/** Creates a directory and its parents with this mode, regardless of the umask; an existing one is left as it is. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  await attempt('create', path, async () => openDirectory(path, { create: mode })[Symbol.dispose]());
}

/** Changes the permission bits of a file or directory; does not follow a symbolic link (`ELOOP`). */
export async function chmod(path: string, mode: number): Promise<void> {
  await change(path, (itself) => chmodSync(itself, mode));
}

/** Changes the owner of a file or directory; does not follow a symbolic link (`ELOOP`). */
export async function chown(path: string, uid: number, gid: number): Promise<void> {
  await change(path, (itself) => chownSync(itself, uid, gid));
}

/** Changes a file through a descriptor, so that the checked file is the one that changes. */
async function change(path: string, action: (itself: string) => void): Promise<void> {
  await attempt('change', path, async () => {
    using entry = openEntry(path);
    const descriptor = openFile(entry, O_PATH);
    try {
      const found = fstatSync(descriptor);
      if (found.isSymbolicLink()) throw errno('ELOOP', 'a symbolic link', path);
      const why = found.isDirectory() ? whyNotInto(entry.directory.stat, found) : undefined;
      if (why !== undefined) throw new UnsafePath(path, why);
      action(procPath(descriptor));
      // Cached decisions about its owner and mode are no longer valid.
      if (found.isDirectory()) dropKeptDirectories();
    } finally {
      closeSync(descriptor);
    }
  });
}

/**
 * Writes a file of /proc/sys or /sys in one write(2), with a final newline as sysctl(8) does (it allows an empty
 * value). Never creates it: a key that the kernel lacks is ENOENT. Throws the errno unchanged.
 */
export async function writeKernelFile(path: string, value: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY);
  await file.write(`${value}\n`);
}

/**
 * Makes a file and its name durable with fsync(2). For anything else flushes the whole file system with syncfs(2), which Node
 * lacks, through coreutils `sync -f` (8.24 and newer): that also covers what other programs wrote for this step. Measured
 * for 1,000 small files: 14 ms, where fsync of each file and directory took 188 ms. Throws `FileError`.
 */
export async function sync(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true)
    return await attempt('flush', path, async () => flushFile(path));
  const existing = nearestExisting(path);
  const result: CommandResult = await runCommand({ program: 'sync', args: ['-f', existing] });
  if (result.status === 0) return;
  throw new FileError('flush', existing, new Error(`sync -f: ${result.stderr.trim() || `status ${result.status}`}`));
}

function flushFile(path: string): void {
  using entry = openEntry(path);
  const descriptor = openFile(entry, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  flushDirectory(entry);
}

async function fill(temporary: string, file: NewFile | StreamedFile): Promise<void> {
  const { content } = file;
  const descriptor = createExclusively(temporary);
  try {
    // chown clears setuid and setgid, so the mode is set afterwards (chown(2)).
    fchownSync(descriptor, file.uid ?? 0, file.gid ?? 0);
    fchmodSync(descriptor, file.mode);
    if (typeof content === 'string' || content instanceof Uint8Array) writeFileSync(descriptor, content);
    else for await (const piece of content) writeFileSync(descriptor, piece);
    // A write may clear them again, where the writer lacks CAP_FSETID (user namespaces).
    if ((file.mode & SETUID_OR_SETGID) !== 0) fchmodSync(descriptor, file.mode);
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a new file 0600. A leftover of a killed run is removed: the lock excludes other runs. */
function createExclusively(temporary: string): number {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY;
  try {
    return openSync(temporary, flags, 0o600);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    unlinkSync(temporary);
    return openSync(temporary, flags, 0o600);
  }
}

/**
 * A fixed name per path, so that the next write of that path finds a killed run's leftover. The leading dot hides it
 * from the kubelet's manifests (kubernetes pkg/kubelet/config/file_linux.go), and its ending excludes it from `*.conf`.
 */
export function temporaryName(path: string): string {
  const name = `.${basename(path)}.machineadm-new`;
  if (Buffer.byteLength(name) <= LONGEST_NAME) return join(dirname(path), name);
  const digest = createHash('sha256').update(basename(path)).digest('hex').slice(0, 32);
  return join(dirname(path), `.${digest}.machineadm-new`);
}

/** A link of root is replaced and never followed, unless it refers to a directory or masks a unit. */
function refuseLink(entry: Entry): void {
  const found = lstatEntry(entry);
  if (found === undefined || !found.isSymbolicLink()) return;
  const why = whyNotThrough(entry.directory.stat, found);
  if (why !== undefined) throw new UnsafePath(entry.path, why);
  const target = readlinkSync(entry.at);
  if (target === '/dev/null') throw unsafeLink(entry.path, 'leads to /dev/null: it masks a unit or a setting');
  if (leadsToDirectory(entry.at)) throw unsafeLink(entry.path, `leads to the directory ${target}`);
}

function leadsToDirectory(link: string): boolean {
  try {
    return statSync(link).isDirectory();
  } catch {
    return false;
  }
}

function unsafeLink(path: string, why: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${path} was not written: it is a symbolic link that ${why}`,
    remedy: `Remove the link with "rm ${path}" if you do not need it, or use the path of its target.`,
    evidence: [{ source: path, text: `symbolic link that ${why}` }],
  });
}

/** The path or its closest existing ancestor; sync(1) opens it by name and changes nothing. */
function nearestExisting(path: string): string {
  let existing = path;
  while (existing !== dirname(existing) && !existsSync(existing)) existing = dirname(existing);
  return existing;
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The caller throws the same cause.
  }
}

async function attempt(operation: FileOperation, path: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    throw fileError(operation, path, error);
  }
}
