import { closeSync, constants, openSync, readSync } from 'node:fs';
import { isOwnDescriptor } from '../files/paths.ts';
import { openPlace } from './place.ts';

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file named on the command line, piece by piece; `-` is standard input. Links of other users are not
 * followed. Throws the errno, or `UnsafePath`.
 */
export function* readPieces(path: string): Generator<Uint8Array> {
  const descriptor = openInput(path === '-' ? '/dev/stdin' : path);
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(descriptor, buffer, 0, CHUNK_BYTES, null);
      if (length === 0) return;
      yield buffer.subarray(0, length);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Opens an input of a command. Opening a FIFO waits for its writer. */
export function openInput(path: string): number {
  if (isOwnDescriptor(path)) return openSync(path, constants.O_RDONLY);
  using place = openPlace(path, { follow: true });
  return place.open(constants.O_RDONLY);
}
