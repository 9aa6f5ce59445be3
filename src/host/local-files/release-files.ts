import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf, FileError, fileError, UnsafePath } from '../files/file-error.ts';
import { isClosed } from '../linux/directory-step.ts';
import { list } from '../linux/read.ts';
import { openInput } from './input-file.ts';
import { openPlace } from './place.ts';

// Separate from `Host`, because releases are also verified and mirrored on machines that machineadm does not prepare.

/** Properties of a file that a release lists. */
export interface FileIdentity {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
}

/** The bytes of a file of at most `limit`; undefined when it does not exist. Throws `FileError`, and `tooLarge()`. */
export async function readSmallFile(
  path: string,
  limit: number,
  tooLarge: () => MachineadmError,
): Promise<Uint8Array | undefined> {
  try {
    const descriptor = openInput(path);
    try {
      if (fstatSync(descriptor).size > limit) throw tooLarge();
      return readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw fileError('read', path, error);
  }
}

/** Names in a directory, sorted; none when it does not exist. Throws `FileError`. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  return (await list(directory)) ?? [];
}

/** True where users other than root and the caller could have written the file or its directory entry. */
export async function othersMayWrite(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  try {
    using place = openPlace(path, { follow: true, closed: true });
    const found = place.stat();
    return found === undefined || !isClosed(found);
  } catch (error) {
    if (error instanceof UnsafePath) return true;
    throw fileError('read', path, error);
  }
}

/** True where users other than the owner may read the file. */
export async function othersMayRead(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  try {
    using place = openPlace(path, { follow: true });
    return ((place.stat()?.mode ?? 0) & 0o077) !== 0;
  } catch (error) {
    throw fileError('read', path, error);
  }
}

export async function fileExists(path: string): Promise<boolean> {
  try {
    using place = openPlace(path, { follow: true });
    return place.stat()?.isFile() === true;
  } catch {
    return false;
  }
}

/** Streams the bytes of a file. The iteration throws `FileError`. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of createReadStream(path, { fd: openInput(path), highWaterMark: 1 << 20 }))
      yield piece as Uint8Array;
  } catch (error) {
    throw new FileError('read', path, error);
  }
}

/** Digest and size of a file; undefined when it does not exist. Throws `FileError`. */
export async function identify(path: string): Promise<FileIdentity | undefined> {
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const piece of createReadStream(path, { fd: openInput(path), highWaterMark: 1 << 20 })) {
      hash.update(piece as Uint8Array);
      size += (piece as Uint8Array).length;
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw new FileError('read', path, error);
  }
  return { sha256: hash.digest('hex'), size };
}

/**
 * Writes a file once `accept` has accepted its digest and size: created exclusively with mode 0600, flushed, renamed.
 * The result is then read again: if it differs from what was accepted, another process has written to it, and it is
 * removed. Throws `FileError`, `VerifiedFileChanged`, and the errors of `accept` and the content.
 */
export async function placeVerified(
  path: string,
  content: AsyncIterable<Uint8Array>,
  accept: (found: FileIdentity) => void,
  mode = 0o644,
): Promise<FileIdentity> {
  const directory = dirname(path);
  try {
    using place = openPlace(path, { create: 0o755, closed: true });
    const temporary = place.beside(`.${basename(path)}.${randomUUID()}`);
    let found: FileIdentity;
    try {
      found = await fill(temporary, content, mode);
      accept(found);
      renameSync(temporary, place.at);
      place.flush();
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    if ((await identify(path))?.sha256 === found.sha256) return found;
    rmSync(place.at, { force: true });
    throw new MachineadmError({
      reason: 'VerifiedFileChanged',
      summary: `${path} was changed by another program after it was verified; it was removed`,
      remedy: `Find the user that writes to ${directory}. Let only root write there, then run the command again.`,
      evidence: [{ source: path, text: `it had the SHA-256 ${found.sha256}` }],
    });
  } catch (error) {
    throw fileError('write', path, error);
  }
}

async function fill(temporary: string, content: AsyncIterable<Uint8Array>, mode: number): Promise<FileIdentity> {
  const hash = createHash('sha256');
  let size = 0;
  const descriptor = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    for await (const piece of content) {
      hash.update(piece);
      size += piece.length;
      writeFileSync(descriptor, piece);
    }
    fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return { sha256: hash.digest('hex'), size };
}
