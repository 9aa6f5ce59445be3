/** Bytes that are stored somewhere and read at any position: a file of a machine, or a buffer. */
export interface StoredBytes {
  readonly size: number;
  /** Fewer than `length` bytes only at the end. */
  read(position: number, length: number): Promise<Uint8Array>;
}

/** Sequential bytes; `read` returns fewer than requested only at the end, `skip` throws when fewer are left. */
export interface ByteSource extends AsyncDisposable {
  read(length: number): Promise<Uint8Array>;
  skip(length: number): Promise<void>;
}

/** Smaller pieces cost more turns of the event loop than bytes; larger ones only wait in memory. */
const PIECE = 1 << 18;

/** A buffer as stored bytes. */
export function storedBytes(bytes: Uint8Array): StoredBytes {
  return { size: bytes.length, read: async (position, length) => bytes.subarray(position, position + length) };
}

/** The bytes from `start` up to `end` in pieces of bounded size. */
export async function* piecesOf(
  stored: StoredBytes,
  start = 0,
  end: number = stored.size,
): AsyncGenerator<Uint8Array, void> {
  for (let position = start; position < end; ) {
    const piece = await stored.read(position, Math.min(PIECE, end - position));
    if (piece.length === 0) throw new RangeError('the file became shorter while it was read');
    position += piece.length;
    yield piece;
  }
}

/** Reads stored bytes in sequence; what is skipped is not read. */
export function storedSource(stored: StoredBytes): ByteSource {
  let position = 0;
  return {
    async read(length) {
      const bytes = await stored.read(position, length);
      position += bytes.length;
      return bytes;
    },
    async skip(length) {
      position += length;
      if (position > stored.size) throw cutShort();
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Reads a stream in sequence. */
export function streamSource(stream: AsyncIterable<Uint8Array>): ByteSource {
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
        if (part.length === 0) throw cutShort();
        missing -= part.length;
      }
    },
    async [Symbol.asyncDispose]() {
      await iterator.return?.();
    },
  };
}

/** The content of a member that comes next in a source: in pieces of bounded size. */
export async function* nextBytes(source: ByteSource, length: number): AsyncGenerator<Uint8Array, void> {
  for (let missing = length; missing > 0; ) {
    const piece = await source.read(Math.min(PIECE, missing));
    if (piece.length === 0) throw cutShort();
    missing -= piece.length;
    yield piece;
  }
}

export async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

export function cutShort(): RangeError {
  return new RangeError('the archive is cut short');
}
