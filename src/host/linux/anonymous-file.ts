import { constants } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path/posix';

/** open(2): __O_TMPFILE, the same on every architecture except alpha, parisc and sparc; Node has no constant for it. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/** In memory if possible: the content may be a secret that must not reach a disk. */
const DIRECTORIES = ['/dev/shm', '/run', '/tmp'];

/**
 * An unnamed file with `content`, 0600, positioned at its start, which disappears when its last descriptor is closed.
 * As standard input it can be reopened through /dev/stdin, which fails with ENXIO for the sockets that Node uses as
 * pipes, and a program can seek in it. The caller closes it.
 */
export async function anonymousFile(content: string): Promise<FileHandle> {
  let failure: unknown;
  for (const directory of DIRECTORIES) {
    try {
      return await filled(await openAnonymous(directory), content);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function filled(file: FileHandle, content: string): Promise<FileHandle> {
  try {
    const bytes = Buffer.from(content);
    for (let position = 0; position < bytes.length; ) {
      // Writes at a position (pwrite), so that the offset that the child inherits stays 0.
      const { bytesWritten } = await file.write(bytes, position, bytes.length - position, position);
      position += bytesWritten;
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openAnonymous(directory: string): Promise<FileHandle> {
  try {
    return await open(directory, O_TMPFILE | constants.O_RDWR, 0o600);
  } catch {
    // A file system without O_TMPFILE (overlayfs before Linux 6.3): the file briefly has a name, in one of our
    // directories.
    const own = await mkdtemp(join(directory, 'machineadm-'));
    try {
      return await open(join(own, 'input'), 'wx+', 0o600);
    } finally {
      await rm(own, { recursive: true });
    }
  }
}
