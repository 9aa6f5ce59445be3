import { constants } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path/posix';

/** open(2): __O_TMPFILE, the same on every architecture but alpha, parisc and sparc; Node does not name it. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/** Memory first: nothing reaches a disk, and a read-only root file system does no harm. */
const DIRECTORIES = ['/dev/shm', '/run', '/tmp'];

/**
 * A file that holds `content`, has no name in any directory and vanishes with its last descriptor: standard input for
 * a program that opens /dev/stdin again or seeks in it. Readable by us alone (0600). The caller closes it.
 */
export async function namelessFile(content: string): Promise<FileHandle> {
  let failure: unknown;
  for (const directory of DIRECTORIES) {
    try {
      const file = await openNameless(directory);
      await file.write(content, 0);
      return file;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function openNameless(directory: string): Promise<FileHandle> {
  try {
    return await open(directory, O_TMPFILE | constants.O_RDWR, 0o600);
  } catch {
    // A file system without O_TMPFILE (overlayfs before Linux 6.3): named for a moment, in a directory of our own.
    const own = await mkdtemp(join(directory, 'machineadm-'));
    try {
      return await open(join(own, 'input'), 'wx+', 0o600);
    } finally {
      await rm(own, { recursive: true });
    }
  }
}
