import { createHash } from 'node:crypto';
import {
  type Compression,
  compressionOf,
  decompressedSource,
  decompressedStream,
  MAGIC_LENGTH,
} from '@machineadm/archives/compression.ts';
import { meteredSource, meterOf } from '@machineadm/archives/meter.ts';
import type { ByteSource } from '@machineadm/archives/stored-bytes.ts';
import type { OpenFile, QueryHost } from '../host/seam/host.ts';

/** Enough for the trailer with gzip's checksum of the content. */
const FINGERPRINT_EDGE = 4096;

/** An archive of images that is open; disposal closes it. */
export interface ArchiveFile extends AsyncDisposable {
  readonly path: string;
  readonly bytes: OpenFile;
  readonly compression: Compression;
}

/**
 * Opens an archive; undefined when the file does not exist. Throws `RangeError` for an unsupported compression
 * (containerd 1.x imports plain tar only, so archives are decompressed first).
 */
export async function openArchive(host: QueryHost, path: string): Promise<ArchiveFile | undefined> {
  const bytes = await host.openFile(path);
  if (bytes === undefined) return undefined;
  const close = () => bytes[Symbol.asyncDispose]();
  try {
    const compression = compressionOf(await bytes.read(0, MAGIC_LENGTH));
    return { path, bytes, compression, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The tar stream inside: the file itself, or decompressed on the way in pieces of bounded size. */
export function tarStream({ bytes, compression }: ArchiveFile): AsyncIterable<Uint8Array> {
  return compression === 'none' ? bytes : decompressedStream(bytes, compression);
}

/** The same for reading entries: a plain tar is read at its entries and skipped in between. Ends with the signal. */
export function tarSource({ bytes, compression }: ArchiveFile, signal: AbortSignal | undefined): ByteSource {
  // As large as containerd takes it; the tar itself limits what is kept.
  return meteredSource(decompressedSource(bytes, compression), meterOf({ bytes: Number.POSITIVE_INFINITY, signal }));
}

/**
 * Identifies a compressed archive without decompressing it again: by its size and its edges, the last bytes of which
 * are a checksum of the content (RFC 1952; zstd writes one by default).
 */
export async function fingerprint({ bytes }: ArchiveFile): Promise<string> {
  const { size } = bytes;
  const hash = createHash('sha256').update(`${size}\n`);
  hash.update(await bytes.read(0, FINGERPRINT_EDGE));
  hash.update(await bytes.read(Math.max(0, size - FINGERPRINT_EDGE), FINGERPRINT_EDGE));
  return hash.digest('hex');
}
