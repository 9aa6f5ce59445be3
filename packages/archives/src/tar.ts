import type { Member } from './member.ts';
import { type ByteSource, cutShort, nextBytes } from './stored-bytes.ts';

const BLOCK = 512;
const DECODER = new TextDecoder();
/** Limit for long names and similar records. */
const LARGEST_EXTENSION = 1 << 20;
/** Limit for all of them together: members with names, times and attributes of their own need a thousand bytes each. */
const LARGEST_EXTENSIONS = 1 << 27;

const TYPES: Readonly<Record<string, Member['type']>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '5': 'directory',
};

/** What a record before a header says of the member: it counts instead of the header's own field. */
interface Extension {
  name?: string;
  target?: string;
  size?: number;
  isSparse?: boolean;
}

/**
 * The members of a tar archive, in order, with contents skipped unless read (POSIX pax, "pax Interchange Format"; tar(5)
 * for the GNU long names and base-256 sizes). Throws `RangeError` where the archive is damaged or truncated.
 */
export async function* tarMembers(source: ByteSource): AsyncGenerator<Member, void> {
  let extension: Extension = {};
  let extensions = 0;
  for (;;) {
    const header = await source.read(BLOCK);
    // The end is two blocks of zeros; Go's archive/tar, which containerd uses, also accepts a plain end.
    if (header.length === 0 || (header.length === BLOCK && header.every((byte) => byte === 0))) return;
    if (header.length < BLOCK) throw cutShort();
    if (!hasChecksum(header)) throw new RangeError('not a tar archive, or a damaged one');

    const type = String.fromCharCode(header[156] ?? 0);
    const size = extension.size ?? numberAt(header, 124, 12);
    if (!Number.isSafeInteger(size) || size < 0) throw new RangeError('a size in the archive is not a number');
    const padded = Math.ceil(size / BLOCK) * BLOCK;
    if (/[xgLK]/.test(type)) {
      extensions += BLOCK + padded;
      if (size > LARGEST_EXTENSION) throw new RangeError('an extended header is too large');
      if (extensions > LARGEST_EXTENSIONS) throw new RangeError('its extended headers are too large together');
      const content = (await source.read(padded)).subarray(0, size);
      if (content.length < size) throw cutShort();
      // Records for all members that follow do not name one.
      if (type !== 'g') extension = { ...extension, ...extensionOf(type, content) };
      continue;
    }
    // Links and directories have no content, whatever their size field says.
    let unread = /[1-6]/.test(type) ? 0 : padded;
    const { name = nameAt(header), target = textOf(header.subarray(157, 257)), isSparse } = extension;
    yield {
      name,
      type: isSparse === true ? 'other' : (TYPES[type] ?? 'other'),
      mode: numberAt(header, 100, 8) & 0o7777,
      target,
      size: unread === 0 ? 0 : size,
      async *content() {
        for await (const piece of nextBytes(source, Math.min(size, unread))) {
          unread -= piece.length;
          yield piece;
        }
      },
    };
    extension = {};
    await source.skip(unread);
  }
}

function extensionOf(type: string, content: Uint8Array): Extension {
  if (type === 'x') return paxOf(content);
  return type === 'L' ? { name: textOf(content) } : { target: textOf(content) };
}

function hasChecksum(header: Uint8Array): boolean {
  let sum = 0;
  for (let index = 0; index < BLOCK; index += 1) sum += index >= 148 && index < 156 ? 0x20 : (header[index] ?? 0);
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
function paxOf(content: Uint8Array): Extension {
  const found: Extension = {};
  for (let rest = content; rest.length > 0; ) {
    const space = rest.indexOf(0x20);
    const length = Number(textOf(rest.subarray(0, Math.max(space, 0))));
    if (space < 1 || !Number.isInteger(length) || length <= space) throw new RangeError('a pax header is damaged');
    const record = textOf(rest.subarray(space + 1, length - 1));
    const equals = record.indexOf('=');
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === 'path') found.name = value;
    if (key === 'linkpath') found.target = value;
    if (key.startsWith('GNU.sparse.')) found.isSparse = true;
    if (key === 'size') found.size = Number(value);
    rest = rest.subarray(length);
  }
  return found;
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return DECODER.decode(end === -1 ? bytes : bytes.subarray(0, end));
}
