import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  chmodSync as followingChmod,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { MachineadmError } from '../../document/errors.ts';
import { errnoOf, FileError, type FileOperation } from '../file-error.ts';
import type { CommandResult, NewFile, StreamedFile } from '../host.ts';
import { runCommand } from './commands.ts';

// The calls for single files are made in this thread: through Node's thread pool each costs eight times the CPU, which
// with 1,000 files of a document is half a second.

const LONGEST_NAME = 255;
const SETUID_OR_SETGID = 0o6000;

/**
 * Puts a file in place by rename: a reader sees the old file or the whole new one. It is born 0600 and empty, gets its
 * owner, then its mode, then its content, so a secret is never readable to more than its final owner and mode allow.
 * Survives a crash of the machine only after `sync`. Throws `FileError` (`DiskFull`, `ReadOnlyFilesystem`, …).
 */
export async function writeFile(file: NewFile | StreamedFile): Promise<void> {
  const { path } = file;
  const temporary = temporaryName(path);
  refuseUnsafeLinks(path);
  await attempt('write', path, async () => {
    createDirectories(dirname(path), file.directoryMode ?? 0o755);
    try {
      await fill(temporary, file);
      renameSync(temporary, path);
    } catch (error) {
      // A file of one run must not fill the disk of the next; that removal can fail for the same cause, which is told.
      removeQuietly(temporary);
      throw error;
    }
  });
}

/** Removes a file or a symbolic link itself; nothing happens when it is not there. Throws `FileError`. */
export async function removeFile(path: string): Promise<void> {
  await attempt('remove', path, async () => {
    rmSync(path, { force: true });
  });
}

/** Creates a directory and its parents with this mode, whatever the umask; one that exists is left as it is. */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  refuseUnsafeLinks(path);
  await attempt('create', path, async () => createDirectories(path, mode));
}

/** Changes the permission bits of a file or directory; a symbolic link is not followed (`ELOOP`). */
export async function chmod(path: string, mode: number): Promise<void> {
  await attempt('change', path, async () => {
    // O_NONBLOCK: opening a FIFO would wait for its other end.
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await file.chmod(mode);
  });
}

/** Changes the owner of a file or directory; a symbolic link is not followed (`ELOOP`). */
export async function chown(path: string, uid: number, gid: number): Promise<void> {
  await attempt('change', path, async () => {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await file.chown(uid, gid);
  });
}

/**
 * Writes a file of /proc/sys or /sys in one write(2), with the newline sysctl(8) ends a value with (it lets an empty
 * value through). It is never created: a key the kernel lacks is ENOENT. Throws the errno as it is.
 */
export async function writeKernelFile(path: string, value: string): Promise<void> {
  await using file = await open(path, constants.O_WRONLY);
  await file.write(`${value}\n`);
}

/**
 * Flushes the file system that holds `path` with syncfs(2), which Node lacks, through coreutils `sync -f` (8.24 and
 * newer). Measured on 1,000 small files: 14 ms, where fsync of each file and directory took 188 ms; and it covers
 * what other programs wrote for this step. Throws `FileError`.
 */
export async function sync(path: string): Promise<void> {
  const existing = nearestExisting(path);
  const result: CommandResult = await runCommand({ program: 'sync', args: ['-f', existing] });
  if (result.status === 0) return;
  throw new FileError('flush', existing, new Error(`sync -f: ${result.stderr.trim() || `status ${result.status}`}`));
}

async function fill(temporary: string, file: NewFile | StreamedFile): Promise<void> {
  const { content } = file;
  const descriptor = createExclusively(temporary);
  try {
    // chown clears setuid and setgid, so it comes before the mode (chown(2)).
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

/** Opens a new file 0600. What a killed run left under the name is removed: the lock keeps other runs away. */
function createExclusively(temporary: string): number {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_WRONLY;
  try {
    return openSync(temporary, flags, 0o600);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    rmSync(temporary, { force: true });
    return openSync(temporary, flags, 0o600);
  }
}

/**
 * Always the same for a path, so that the next write of that path meets what a killed run left. The leading dot hides
 * it from the kubelet's manifests (kubernetes pkg/kubelet/config/file_linux.go), and the ending from `*.conf`.
 */
export function temporaryName(path: string): string {
  const name = `.${basename(path)}.machineadm-new`;
  if (Buffer.byteLength(name) <= LONGEST_NAME) return join(dirname(path), name);
  const digest = createHash('sha256').update(basename(path)).digest('hex').slice(0, 32);
  return join(dirname(path), `.${digest}.machineadm-new`);
}

function createDirectories(path: string, mode: number): void {
  // Follows a link such as /var/run, which is a directory for this purpose.
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found !== undefined) throw Object.assign(new Error(`ENOTDIR: not a directory, '${path}'`), { code: 'ENOTDIR' });
  createDirectories(dirname(path), mode);
  try {
    mkdirSync(path, { mode: mode & 0o700 });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return;
    throw error;
  }
  // Ours since this moment, and not yet open to anybody: the umask cannot widen or narrow what was asked for.
  followingChmod(path, mode);
}

/**
 * Refuses a path on which an unprivileged user has put a symbolic link: `~user/.ssh` could lead a write of root into
 * /root (systemd calls it an unsafe transition, src/basic/chase.c CHASE_SAFE). As the last component, a link of root's
 * own is replaced and never followed, unless it stands for a directory or masks a unit.
 */
function refuseUnsafeLinks(path: string): void {
  const own = process.geteuid?.() ?? 0;
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    const found = lstatIfThere(part);
    if (found === undefined || !found.isSymbolicLink()) continue;
    if (found.uid !== 0 && found.uid !== own) throw unsafeLink(path, part, `belongs to the user ${found.uid}`);
    if (part !== path) continue;
    const target = readlinkSync(path);
    if (target === '/dev/null') throw unsafeLink(path, part, 'leads to /dev/null: it masks a unit or a setting');
    if (leadsToDirectory(path)) throw unsafeLink(path, part, `leads to the directory ${target}`);
  }
}

function leadsToDirectory(link: string): boolean {
  try {
    return statSync(link).isDirectory();
  } catch {
    return false;
  }
}

function unsafeLink(path: string, link: string, why: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${path} was not written: ${link} is a symbolic link that ${why}`,
    remedy: `Remove the link with "rm ${link}" if it is not wanted, or give the path it leads to.`,
    evidence: [{ source: link, text: `symbolic link that ${why}` }],
  });
}

function lstatIfThere(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new FileError('write', path, error);
  }
}

function nearestExisting(path: string): string {
  let existing = path;
  while (existing !== dirname(existing) && lstatIfThere(existing) === undefined) existing = dirname(existing);
  return existing;
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Told already: it fails for the cause that the caller throws.
  }
}

async function attempt(operation: FileOperation, path: string, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof MachineadmError) throw error;
    throw new FileError(operation, path, error);
  }
}
