/** Sequential bytes; `read` returns fewer than requested only at the end, `skip` throws when fewer are left. */
export interface ByteSource {
  read(length: number): Promise<Uint8Array>;
  skip(length: number): Promise<void>;
}

export interface TarEntry {
  /** Without a leading `./` or `/`. */
  readonly name: string;
  readonly size: number;
  /** The content; to be read before the next entry, or not at all. */
  read(): Promise<Uint8Array>;
}

const BLOCK = 512;
/** Limit for long names and similar records. */
const LARGEST_EXTENSION = 1 << 20;

/**
 * The regular files of a tar archive, in order, with contents skipped unless read (POSIX pax, "pax Interchange Format";
 * tar(5) for the GNU long names and base-256 sizes). Throws `RangeError` where the archive is damaged or truncated.
 */
export async function* tarEntries(source: ByteSource): AsyncGenerator<TarEntry> {
  let extension: { name?: string; size?: number } = {};
  for (;;) {
    const header = await source.read(BLOCK);
    // The end is two blocks of zeros; Go's archive/tar, which containerd uses, also accepts a plain end.
    if (header.length === 0 || (header.length === BLOCK && header.every((byte) => byte === 0))) return;
    if (header.length < BLOCK) throw new RangeError('the archive is cut short');
    if (!hasChecksum(header)) throw new RangeError('not a tar archive, or a damaged one');

    const type = String.fromCharCode(header[156] ?? 0);
    const size = extension.size ?? numberAt(header, 124, 12);
    const padded = Math.ceil(size / BLOCK) * BLOCK;
    if (type === 'x' || type === 'L') {
      if (size > LARGEST_EXTENSION) throw new RangeError('an extended header is too large');
      const content = (await source.read(padded)).subarray(0, size);
      if (content.length < size) throw new RangeError('the archive is cut short');
      extension = type === 'L' ? { ...extension, name: textOf(content) } : { ...extension, ...paxOf(content) };
      continue;
    }
    let unread = padded;
    if (type === '0' || type === '\0') {
      yield {
        name: (extension.name ?? nameAt(header)).replace(/^(\.?\/)+/, ''),
        size,
        async read() {
          const content = await source.read(size);
          if (content.length < size) throw new RangeError('the archive is cut short');
          unread -= size;
          return content;
        },
      };
    }
    extension = {};
    // Links and directories have no content, whatever their size field says.
    if (!/[1-6]/.test(type)) await source.skip(unread);
  }
}

function hasChecksum(header: Uint8Array): boolean {
  let sum = 0;
  for (const [index, byte] of header.entries()) sum += index >= 148 && index < 156 ? 0x20 : byte;
  return sum === numberAt(header, 148, 8);
}

function numberAt(header: Uint8Array, start: number, length: number): number {
  const field = header.subarray(start, start + length);
  if (((field[0] ?? 0) & 0x80) !== 0) return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
  const text = textOf(field).trim();
  return /^[0-7]*$/.test(text) ? Number.parseInt(text || '0', 8) : Number.NaN;
}

function nameAt(header: Uint8Array): string {
  const name = textOf(header.subarray(0, 100));
  const isPosix = textOf(header.subarray(257, 263)) === 'ustar';
  const prefix = isPosix ? textOf(header.subarray(345, 500)) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** Records of the form `LENGTH KEY=VALUE\n`, the length counting the whole record. */
function paxOf(content: Uint8Array): { name?: string; size?: number } {
  const found: { name?: string; size?: number } = {};
  for (let rest = content; rest.length > 0; ) {
    const space = rest.indexOf(0x20);
    const length = Number(textOf(rest.subarray(0, Math.max(space, 0))));
    if (space < 1 || !Number.isInteger(length) || length <= space) throw new RangeError('a pax header is damaged');
    const record = textOf(rest.subarray(space + 1, length - 1));
    const equals = record.indexOf('=');
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === 'path') found.name = value;
    if (key === 'size') found.size = Number(value);
    rest = rest.subarray(length);
  }
  return found;
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end));
}
