import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { FileStat, OpenFile } from '../seam/host.ts';
import { errnoOf, fileError } from './file-error.ts';

/** Of what is streamed: 256 KiB. */
const PIECE = 1 << 18;

/** At most `length` bytes from `position` on; fewer only at the end of the file. */
export async function readPiece(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const range = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(range, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return range.subarray(0, filled);
}

/** Lower-case hex SHA-256, read in pieces of 1 MiB, so that an image archive of gigabytes fits. */
export async function digestOf(file: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const piece = new Uint8Array(1 << 20);
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(piece, 0, piece.length, position);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(piece.subarray(0, bytesRead));
    position += bytesRead;
  }
}

/** Takes over a file that was just opened. */
export async function openedFile(file: FileHandle): Promise<OpenFile> {
  const { dev, ino, size: bytes, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  const size = Number(bytes);
  const read: OpenFile['read'] = (position, length) => readPiece(file, position, length);
  return {
    size,
    identity: [dev, ino, size, mtimeNs, ctimeNs].join(' '),
    descriptor: file.fd,
    read,
    sha256: () => digestOf(file),
    async *[Symbol.asyncIterator]() {
      for (let position = 0; position < size; position += PIECE) yield await read(position, PIECE);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** The result of `action` on a file; undefined when the file does not exist. Throws `FileError`. */
export async function unlessAbsent<T>(path: string, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw fileError('read', path, error);
  }
}

/** The result of lstat(2) in our types. */
export function typeOf(found: Stats): FileStat['type'] {
  if (found.isFile()) return 'file';
  if (found.isDirectory()) return 'directory';
  if (found.isSymbolicLink()) return 'symlink';
  return found.isSocket() ? 'socket' : 'other';
}
