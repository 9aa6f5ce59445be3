export interface TarEntry {
  readonly path: string;
  /** undefined = a directory. */
  readonly content: Buffer | undefined;
  readonly mode: number;
}

const BLOCK = 512;

/** A ustar archive (POSIX.1-2001 pax, "ustar Interchange Format"): root owns all, times are 0, so that it reproduces. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const pieces: Buffer[] = [];
  for (const { path, content, mode } of entries) {
    const size = content?.length ?? 0;
    const header = Buffer.alloc(BLOCK);
    header.write(path, 0, 100);
    header.write(octal(mode, 7), 100);
    header.write(octal(0, 7), 108);
    header.write(octal(0, 7), 116);
    header.write(octal(size, 11), 124);
    header.write(octal(0, 11), 136);
    header.write('        ', 148);
    header.write(content === undefined ? '5' : '0', 156);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${octal(sum, 6)}\0 `, 148);
    pieces.push(header);
    if (content !== undefined) pieces.push(content, Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK));
  }
  return Buffer.concat([...pieces, Buffer.alloc(2 * BLOCK)]);
}

/** These files and the directories that they lie in, by their paths in the archive. */
export function tarOfFiles(
  files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>,
): Buffer {
  const directories = new Set<string>();
  for (const path of Object.keys(files)) {
    const parts = path.split('/').slice(0, -1);
    parts.forEach((_, index) => {
      directories.add(parts.slice(0, index + 1).join('/'));
    });
  }
  return tar([
    ...[...directories].map((path) => ({ path, content: undefined, mode: 0o755 })),
    ...Object.entries(files).map(([path, file]) => ({ path, ...file })),
  ]);
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width, '0');
}
