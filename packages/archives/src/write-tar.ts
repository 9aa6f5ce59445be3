/** A file or directory of an archive. */
export interface TarEntry {
  /** Relative, with `/`; of any length. */
  readonly path: string;
  /** undefined: a directory. */
  readonly content: Uint8Array | undefined;
  readonly mode: number;
}

const BLOCK = 512;
const LONGEST_NAME = 100;

/**
 * A tar archive (POSIX.1-2017, pax, "ustar Interchange Format"): root owns all and times are 0, so that the same entries
 * make the same bytes. A name that a ustar header has no place for goes into an extended header before it.
 */
export function tar(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, content, mode }) => {
    const size = content?.length ?? 0;
    const head = tarHeader(path, size, content === undefined ? '5' : '0', mode);
    const isPlain = Buffer.byteLength(path) <= LONGEST_NAME && /^[ -~]*$/.test(path);
    return [...(isPlain ? [] : extended(path)), head, ...(content === undefined ? [] : padded(content))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** One header block; a name that is too long is cut. */
export function tarHeader(path: string, size: number, type: string, mode = 0o644): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, LONGEST_NAME);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

/** The path as a record of a pax header: `LENGTH path=PATH\n`, where the length counts the whole record. */
function extended(path: string): readonly Uint8Array[] {
  const rest = ` path=${path}\n`;
  const length = (digits: number): number => digits + Buffer.byteLength(rest);
  const digits = [1, 2, 3, 4, 5].find((count) => String(length(count)).length === count) ?? 6;
  const record = Buffer.from(`${length(digits)}${rest}`);
  return [tarHeader('PaxHeaders/path', record.length, 'x'), ...padded(record)];
}

function padded(content: Uint8Array): readonly Uint8Array[] {
  return [content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, '0');
}
