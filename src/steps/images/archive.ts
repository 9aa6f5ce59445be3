import { createHash } from 'node:crypto';
import {
  type Compression,
  compressionOf,
  decompressedSource,
  decompressedStream,
  MAGIC_LENGTH,
} from '@machineadm/archives/compression.ts';
import type { ByteSource, StoredBytes } from '@machineadm/archives/stored-bytes.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** Enough for the trailer with gzip's checksum of the content. */
const FINGERPRINT_EDGE = 4096;

/** A file with an archive of images, as stored on disk. */
export interface ArchiveFile {
  readonly path: string;
  readonly size: number;
  readonly compression: Compression;
}

/**
 * Opens an archive; undefined when the file does not exist. Throws `RangeError` for an unsupported compression
 * (containerd 1.x imports plain tar only, so archives are decompressed first).
 */
export async function openArchive(host: QueryHost, path: string): Promise<ArchiveFile | undefined> {
  const head = await host.readRange(path, 0, MAGIC_LENGTH);
  return head === undefined ? undefined : { path, size: await sizeOf(host, path), compression: compressionOf(head) };
}

/** The tar stream inside, decompressed on the way: in pieces of bounded size, however large the archive is. */
export function tarStream(host: QueryHost, file: ArchiveFile): AsyncIterable<Uint8Array> {
  return decompressedStream(storedFile(host, file), file.compression);
}

/** The same for reading entries: a plain tar is read at its entries and skipped in between. */
export function tarSource(host: QueryHost, file: ArchiveFile): ByteSource {
  return decompressedSource(storedFile(host, file), file.compression);
}

/** A file of this machine, read in pieces. */
export function storedFile(host: QueryHost, { path, size }: Pick<ArchiveFile, 'path' | 'size'>): StoredBytes {
  return {
    size,
    read: async (position, length) => (await host.readRange(path, position, length)) ?? new Uint8Array(0),
  };
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
export async function sizeOf(host: QueryHost, path: string): Promise<number> {
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
