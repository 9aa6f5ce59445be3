import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { type ByteSource, piecesOf, type StoredBytes, storedSource, streamSource } from './stored-bytes.ts';

export type Compression = 'none' | 'gzip' | 'zstd';

/** How much of a file `compressionOf` must see. In bytes. */
export const MAGIC_LENGTH = 6;
/** Of decompressed bytes: Node's 16 KiB take a third more processor time for an image archive. */
const CHUNK = 1 << 18;

/** The compression of a file, by its first bytes. Throws `RangeError` for one that is not supported. */
export function compressionOf(head: Uint8Array): Compression {
  const magic = Buffer.from(head).toString('hex');
  if (magic.startsWith('1f8b')) return 'gzip';
  if (magic.startsWith('28b52ffd')) return 'zstd';
  const other = magic === 'fd377a585a00' ? 'xz' : magic.startsWith('425a68') ? 'bzip2' : undefined;
  if (other !== undefined) throw new RangeError(`compressed with ${other}; gzip, zstd or a plain tar is needed`);
  return 'none';
}

/** The stream inside, decompressed on the way: in pieces of bounded size, however large it is. */
export function decompressedStream(stored: StoredBytes, compression: Compression): AsyncIterable<Uint8Array> {
  if (compression === 'none') return piecesOf(stored);
  return compression === 'gzip' ? decompressed(stored, 0, createGunzip({ chunkSize: CHUNK })) : zstdFrames(stored);
}

/** The same to be read in sequence: without compression, what is skipped is not read. */
export function decompressedSource(stored: StoredBytes, compression: Compression): ByteSource {
  return compression === 'none' ? storedSource(stored) : streamSource(decompressedStream(stored, compression));
}

/**
 * zstd(1) writes one frame, pzstd and seekable archives have many. Node's decompressor ends without an error after a
 * frame that ends inside a piece; its position shows where the next one begins.
 */
async function* zstdFrames(stored: StoredBytes): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < stored.size; ) {
    const decompress = createZstdDecompress({ chunkSize: CHUNK });
    yield* decompressed(stored, start, decompress);
    if (decompress.bytesWritten === 0) throw new RangeError('the archive is damaged');
    start += decompress.bytesWritten;
  }
}

function decompressed(stored: StoredBytes, start: number, decompress: Transform): AsyncIterable<Uint8Array> {
  // The iteration throws errors of either side; the callback only prevents uncaught ones.
  return pipeline(Readable.from(piecesOf(stored, start)), decompress, () => {});
}
