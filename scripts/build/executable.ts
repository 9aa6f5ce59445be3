import { readFile, writeFile } from 'node:fs/promises';
import { inject } from 'postject';
import { withoutOtherLocales } from './icu-data.ts';

/**
 * Node looks for this text in its own file and starts the embedded program when the digit after it is 1
 * (nodejs/node doc/api/single-executable-applications.md). It is split here because the text must occur only once in the
 * finished file: a bundle that contained it would be patched in the wrong place.
 */
const SENTINEL_FUSE = ['NODE_SEA_FUSE', 'fce680ab2cc467b6e072b8b5df1996b2'].join('_');

const PT_LOAD = 1;

/**
 * Removes the symbol table, the debug information and the section table of a 64-bit little-endian ELF file: everything
 * after the last byte that the kernel maps. It needs no binutils for the target's architecture. Layout: elf(5).
 */
export function stripElf(file: Buffer): Buffer {
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) {
    throw new Error('not a 64-bit little-endian ELF file');
  }
  const headersAt = Number(file.readBigUInt64LE(0x20));
  const headerSize = file.readUInt16LE(0x36);
  const headerCount = file.readUInt16LE(0x38);
  let mappedEnd = headersAt + headerSize * headerCount;
  for (let index = 0; index < headerCount; index++) {
    const header = headersAt + index * headerSize;
    if (file.readUInt32LE(header) !== PT_LOAD) continue;
    const offset = Number(file.readBigUInt64LE(header + 0x08));
    const length = Number(file.readBigUInt64LE(header + 0x20));
    mappedEnd = Math.max(mappedEnd, offset + length);
  }
  if (mappedEnd > file.length) throw new Error('the ELF file is shorter than its segments');
  const stripped = Buffer.from(file.subarray(0, mappedEnd));
  stripped.writeBigUInt64LE(0n, 0x28); // e_shoff
  stripped.writeUInt16LE(0, 0x3c); // e_shnum
  stripped.writeUInt16LE(0, 0x3e); // e_shstrndx
  return stripped;
}

/**
 * Removes the Authenticode signature of a 64-bit PE file. This must happen before injection: after it the table is stale,
 * and osslsigncode can neither verify, remove nor replace it. Layout: data directory 4 (certificate table) in the optional
 * header of the PE format. Its address is a file offset.
 */
export function unsignPe(file: Buffer): Buffer {
  const signatureAt = file.readUInt32LE(0x3c);
  if (file.toString('latin1', signatureAt, signatureAt + 4) !== 'PE\0\0') throw new Error('not a PE file');
  const optionalHeader = signatureAt + 24;
  if (file.readUInt16LE(optionalHeader) !== 0x20b) throw new Error('not a 64-bit PE file');
  const entry = optionalHeader + 112 + 4 * 8;
  const tableAt = file.readUInt32LE(entry);
  const tableLength = file.readUInt32LE(entry + 4);
  if (tableAt === 0) return Buffer.from(file);
  if (tableAt + tableLength > file.length) throw new Error('the certificate table lies outside the PE file');
  const unsigned = Buffer.from(file.subarray(0, tableAt));
  unsigned.writeUInt32LE(0, entry);
  unsigned.writeUInt32LE(0, entry + 4);
  return unsigned;
}

/** The warning of postject for an ELF file without the section table, which `stripElf` removes. The loader does not need one. */
const EXPECTED_WARNING = /doesn't have a section header|Can't find string offset for section name/;

/** Injects the blob of the program into a Node executable, and writes the result with mode 0755. */
export async function assemble(runtime: string, format: 'elf' | 'pe', blob: string, output: string): Promise<void> {
  const node = withoutOtherLocales(await readFile(runtime));
  await writeFile(output, format === 'elf' ? stripElf(node) : unsignPe(node), { mode: 0o755 });
  const warn = console.warn;
  console.warn = (text: unknown): void => {
    if (!EXPECTED_WARNING.test(String(text))) warn(text);
  };
  try {
    await inject(output, 'NODE_SEA_BLOB', await readFile(blob), { sentinelFuse: SENTINEL_FUSE });
  } finally {
    console.warn = warn;
  }
}
