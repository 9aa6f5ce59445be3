import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { errnoOf, FileError } from '../files/file-error.ts';
import { makeDirectories } from '../local-files/place.ts';
import { windowsPath } from '../windows/paths.ts';
import { lockedError } from './locked-error.ts';

/**
 * libuv's UV_FS_O_EXLOCK, for which Node has no constant: opens without sharing, so that no other process can open the
 * file until this handle is closed (uv/win.h; docs.libuv.org, "File open constants": Windows since 1.17). Windows
 * closes it with the process, however that ends.
 */
const EXCLUSIVE = 0x10000000;

/** Takes the lock file for this process. Throws `Locked` with the holder, `FileError`. */
export function tryWindowsLock(path: string): { readonly path: string; release(): void } {
  const file = windowsPath(path);
  let descriptor: number;
  try {
    makeDirectories(file.slice(0, file.lastIndexOf('\\')), 0o755);
    descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT | EXCLUSIVE, 0o600);
  } catch (error) {
    // ERROR_SHARING_VIOLATION.
    if (errnoOf(error) === 'EBUSY') throw lockedError(file, holderOf(file));
    throw new FileError('create', file, error);
  }
  // The lock itself cannot be read while it is held.
  writeFileSync(holderFile(file), `${process.pid}\n`);
  let isHeld = true;
  return {
    path: file,
    release() {
      if (isHeld) closeSync(descriptor);
      isHeld = false;
    },
  };
}

/** True while the process with this id holds the lock. */
export function holdsWindowsLock(path: string, pid: number): boolean {
  const file = windowsPath(path);
  try {
    closeSync(openSync(file, constants.O_RDWR | EXCLUSIVE));
    return false;
  } catch (error) {
    return errnoOf(error) === 'EBUSY' && holderOf(file) === pid;
  }
}

function holderFile(file: string): string {
  return `${file}.holder`;
}

function holderOf(file: string): number | undefined {
  try {
    return Number(readFileSync(holderFile(file), 'utf8'));
  } catch {
    return undefined;
  }
}
