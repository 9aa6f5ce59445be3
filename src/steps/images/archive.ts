import { createHash } from 'node:crypto';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { QueryHost } from '../../host/seam/host.ts';
import type { ByteSource } from './tar.ts';

/** The capacity of a pipe (pipe(7)); larger pieces only wait in memory. */
const PIECE = 1 << 16;
/** Enough for the trailer with gzip's checksum of the content. */
const FINGERPRINT_EDGE = 4096;

/** A file with an archive of images, as stored on disk. */
export interface ArchiveFile {
  readonly path: string;
  readonly size: number;
  readonly compression: 'none' | 'gzip' | 'zstd';
}

/**
 * Opens an archive; undefined when the file does not exist. Throws `RangeError` for an unsupported compression
 * (containerd 1.x imports plain tar only, so archives are decompressed first).
 */
export async function openArchive(host: QueryHost, path: string): Promise<ArchiveFile | undefined> {
  const head = await host.readRange(path, 0, 6);
  if (head === undefined) return undefined;
  const size = await sizeOf(host, path);
  const magic = Buffer.from(head).toString('hex');
  if (magic.startsWith('1f8b')) return { path, size, compression: 'gzip' };
  if (magic.startsWith('28b52ffd')) return { path, size, compression: 'zstd' };
  const other = magic === 'fd377a585a00' ? 'xz' : magic.startsWith('425a68') ? 'bzip2' : undefined;
  if (other !== undefined) throw new RangeError(`compressed with ${other}; gzip, zstd or a plain tar is needed`);
  return { path, size, compression: 'none' };
}

/** The tar stream inside, decompressed on the way: in pieces of bounded size, however large the archive is. */
export function tarStream(host: QueryHost, file: ArchiveFile): AsyncIterable<Uint8Array> {
  if (file.compression === 'none') return pieces(host, file, 0);
  return file.compression === 'gzip' ? decompressed(host, file, 0, createGunzip()) : zstdFrames(host, file);
}

/**
 * zstd(1) writes one frame, pzstd and seekable archives have many. Node's decompressor ends without an error after a
 * frame that ends inside a piece; its position shows where the next one begins.
 */
async function* zstdFrames(host: QueryHost, file: ArchiveFile): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < file.size; ) {
    const decompress = createZstdDecompress();
    yield* decompressed(host, file, start, decompress);
    if (decompress.bytesWritten === 0) throw new RangeError('the archive is damaged');
    start += decompress.bytesWritten;
  }
}

function decompressed(
  host: QueryHost,
  file: ArchiveFile,
  start: number,
  decompress: Transform,
): AsyncIterable<Uint8Array> {
  // The iteration throws errors of either side; the callback only prevents uncaught ones.
  return pipeline(Readable.from(pieces(host, file, start)), decompress, () => {});
}

/** The same for reading entries: a plain tar is read at its entries and skipped in between. */
export function tarSource(host: QueryHost, file: ArchiveFile): ByteSource & AsyncDisposable {
  return file.compression === 'none' ? fileSource(host, file) : streamSource(tarStream(host, file));
}

/**
 * Identifies a compressed archive without decompressing it again: by its size and its edges, the last bytes of which
 * are a checksum of the content (RFC 1952; zstd writes one by default).
 */
export async function fingerprint(host: QueryHost, file: ArchiveFile): Promise<string> {
  const hash = createHash('sha256').update(`${file.size}\n`);
  hash.update((await host.readRange(file.path, 0, FINGERPRINT_EDGE)) ?? '');
  hash.update((await host.readRange(file.path, Math.max(0, file.size - FINGERPRINT_EDGE), FINGERPRINT_EDGE)) ?? '');
  return hash.digest('hex');
}

/** lstat's size is that of a symlink; the content's is found by searching for its end. */
async function sizeOf(host: QueryHost, path: string): Promise<number> {
  const stat = await host.stat(path);
  if (stat?.type === 'file') return stat.size;
  let [low, high] = [0, 1];
  const exists = async (position: number) => ((await host.readRange(path, position, 1))?.length ?? 0) > 0;
  while (await exists(high)) [low, high] = [high, high * 2];
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2);
    if (await exists(middle)) low = middle;
    else high = middle;
  }
  return high;
}

async function* pieces(host: QueryHost, { path, size }: ArchiveFile, start: number): AsyncGenerator<Uint8Array> {
  for (let position = start; position < size; ) {
    const piece = await host.readRange(path, position, PIECE);
    if (piece === undefined || piece.length === 0) throw new RangeError('the file became shorter while it was read');
    position += piece.length;
    yield piece;
  }
}

function fileSource(host: QueryHost, { path, size }: ArchiveFile): ByteSource & AsyncDisposable {
  let position = 0;
  return {
    async read(length) {
      const bytes = (await host.readRange(path, position, length)) ?? new Uint8Array(0);
      position += bytes.length;
      return bytes;
    },
    async skip(length) {
      position += length;
      if (position > size) throw new RangeError('the archive is cut short');
    },
    async [Symbol.asyncDispose]() {},
  };
}

function streamSource(stream: AsyncIterable<Uint8Array>): ByteSource & AsyncDisposable {
  const iterator = stream[Symbol.asyncIterator]();
  let buffered: Uint8Array = new Uint8Array(0);
  /** Takes the available bytes, at most `length`; none at the end. */
  const take = async (length: number): Promise<Uint8Array> => {
    while (buffered.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return buffered;
      buffered = next.value;
    }
    const part = buffered.subarray(0, length);
    buffered = buffered.subarray(part.length);
    return part;
  };
  return {
    async read(length) {
      const parts: Uint8Array[] = [];
      for (let missing = length; missing > 0; ) {
        const part = await take(missing);
        if (part.length === 0) break;
        parts.push(part);
        missing -= part.length;
      }
      return Buffer.concat(parts);
    },
    async skip(length) {
      for (let missing = length; missing > 0; ) {
        const part = await take(missing);
        if (part.length === 0) throw new RangeError('the archive is cut short');
        missing -= part.length;
      }
    },
    async [Symbol.asyncDispose]() {
      await iterator.return?.();
    },
  };
}
