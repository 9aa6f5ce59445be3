import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { win32 } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf, FileError, type FileOperation } from '../files/file-error.ts';
import type { Host, NewFile, StreamedFile } from '../seam/host.ts';
import { OWN_DIRECTORY, POWERSHELL, windowsPath } from './paths.ts';
import { readAnswer, scriptInput } from './powershell.ts';
import type { Security } from './security.ts';
import { FLUSH_VOLUME } from './security-scripts.ts';
import type { WindowsSystem } from './system.ts';

type FileChanges = Pick<
  Host,
  | 'writeFile'
  | 'writeLink'
  | 'linkFile'
  | 'removeFile'
  | 'removeDirectory'
  | 'makeDirectory'
  | 'chmod'
  | 'chown'
  | 'writeKernelFile'
  | 'sync'
>;

/** A scanner or an indexer opens new files for some milliseconds, and blocks renaming them. */
const RENAME_ATTEMPTS = 10;
const RENAME_PAUSE_MS = 100;
const FLUSH_TIMEOUT_MS = 60_000;

/**
 * Changes to files. A file is created in one of our directories that only the system account and administrators can
 * enter, gets its final permissions there, then its content, and is renamed to its place (a rename keeps permissions:
 * learn.microsoft.com, "ACLs and moving files"). So no other user can open it before it is restricted, and readers
 * never see a partial file.
 */
export function fileChanges(system: WindowsSystem, security: Security): FileChanges {
  const at = (path: string): string => system.native(path);
  const closed = new Map<string, Promise<void>>();

  /**
   * Creates our directory and those of its parents that are ours, and restricts each once: an existing one may be
   * another user's. Files created in it inherit the restriction. Top-down, because a user could put a link into a
   * directory that is not restricted yet.
   */
  function close(directory: string): Promise<void> {
    const known = closed.get(directory) ?? closeAnew(directory);
    closed.set(directory, known);
    known.catch(() => closed.delete(directory));
    return known;
  }

  async function closeAnew(directory: string): Promise<void> {
    if (isOwn(directory)) await close(win32.dirname(directory));
    refuseLinks(at, directory);
    await security.write(directory, 0o700, 'directory', true);
  }

  async function directories(path: string, mode: number): Promise<void> {
    const found = lstatSync(at(path), { throwIfNoEntry: false });
    if (found?.isDirectory()) return;
    if (found !== undefined) throw Object.assign(new Error(`ENOTDIR: not a directory, '${path}'`), { code: 'ENOTDIR' });
    if (win32.dirname(path) !== path) await directories(win32.dirname(path), mode);
    await security.write(path, mode, 'directory', true);
  }

  return {
    async writeFile(file: NewFile | StreamedFile) {
      const path = windowsPath(file.path);
      await attempt('write', path, async () => {
        refuseLinks(at, path);
        refuseOwner(file.path, file.uid, file.gid);
        const birthplace = `${ownDirectory(path)}\\new`;
        await close(birthplace);
        if (isOwn(path)) await close(win32.dirname(path));
        else await directories(win32.dirname(path), file.directoryMode ?? 0o755);
        const born = `${birthplace}\\${digest(path)}`;
        rmSync(at(born), { force: true });
        try {
          const descriptor = openSync(at(born), constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
          try {
            if (!isOwn(path)) await security.write(born, file.mode, 'file');
            const { content } = file;
            if (typeof content === 'string' || content instanceof Uint8Array) writeFileSync(descriptor, content);
            else for await (const piece of content) writeFileSync(descriptor, piece);
            fsyncSync(descriptor);
          } finally {
            closeSync(descriptor);
          }
          await rename(at(born), at(path));
        } catch (error) {
          rmSync(at(born), { force: true });
          throw error;
        } finally {
          security.forget();
        }
      });
    },

    async removeFile(path) {
      await attempt('remove', windowsPath(path), async () => rmSync(at(windowsPath(path)), { force: true }));
    },

    async removeDirectory(path) {
      await attempt('remove', windowsPath(path), async () => {
        const directory = at(windowsPath(path));
        if (lstatSync(directory, { throwIfNoEntry: false }) !== undefined) rmdirSync(directory);
      });
    },

    async makeDirectory(path, mode) {
      await attempt('create', windowsPath(path), async () => {
        const directory = windowsPath(path);
        refuseLinks(at, directory);
        if (isOwn(directory)) await close(directory);
        else await directories(directory, mode);
      });
    },

    async chmod(path, mode) {
      await attempt('change', windowsPath(path), async () => {
        const windows = windowsPath(path);
        refuseLinks(at, windows);
        await security.write(windows, mode, lstatSync(at(windows)).isDirectory() ? 'directory' : 'file');
      });
    },

    async chown(path, uid, gid) {
      refuseOwner(path, uid, gid);
      // Every written descriptor has the administrators as the owner.
    },

    async writeKernelFile(path) {
      throw onlyOnLinux(`${path} is an interface of the Linux kernel, which Windows does not have`);
    },

    async writeLink(path) {
      throw onlyOnLinux(`${path} was to become a symbolic link, which machineadm does not make on Windows`);
    },

    linkFile: async () => false,

    async sync(path) {
      const drive = windowsPath(path).charAt(0);
      const result = await system.run({
        program: POWERSHELL,
        args: FLUSH_VOLUME.args,
        input: scriptInput({ drive }),
        timeoutMs: FLUSH_TIMEOUT_MS,
      });
      const answer = readAnswer(FLUSH_VOLUME, result);
      if (!answer.ok) throw new FileError('flush', `${drive}:\\`, new Error(answer.message));
    },
  };
}

function onlyOnLinux(summary: string): MachineadmError {
  return new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary,
    remedy: 'This is a defect in machineadm: the document should have been refused. Please report it.',
  });
}

/** Our directory on the drive of a path: a file must be renamed within one volume. */
function ownDirectory(path: string): string {
  return `${path.slice(0, 2)}${OWN_DIRECTORY.slice(2)}`;
}

/** Whether a path is in our directory, which is restricted as a whole: `0644` there also means administrators. */
function isOwn(path: string): boolean {
  return path.toLowerCase().startsWith(`${ownDirectory(path).toLowerCase()}\\`);
}

/**
 * Refuses a path with a link or a junction: its owner cannot be determined from here, and a user's link below one of
 * our directories could redirect a write.
 */
function refuseLinks(at: (path: string) => string, path: string): void {
  for (let part = path; part !== win32.dirname(part); part = win32.dirname(part)) {
    if (lstatIfThere(at(part))?.isSymbolicLink() !== true) continue;
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `${path} was not written: ${part} is a link or a junction`,
      remedy: `Remove it with "rmdir ${part}" if you do not need it, or use the path of its target.`,
      evidence: [{ source: part, text: 'a reparse point that leads elsewhere' }],
    });
  }
}

function lstatIfThere(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function refuseOwner(path: string, uid: number | undefined, gid: number | undefined): void {
  if ((uid ?? 0) === 0 && (gid ?? 0) === 0) return;
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `${path} would get another owner than the administrators, which machineadm cannot set on Windows`,
    remedy: 'Remove the owner from the document.',
  });
}

/** A fixed name per path, so that the next write of that path finds a killed run's leftover. */
function digest(path: string): string {
  return createHash('sha256').update(path.toLowerCase()).digest('hex').slice(0, 32);
}

async function rename(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      const code = errnoOf(error);
      const passing = code === 'EPERM' || code === 'EACCES' || code === 'EBUSY';
      if (!passing || attempt === RENAME_ATTEMPTS) throw error;
    }
    await sleep(RENAME_PAUSE_MS);
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
