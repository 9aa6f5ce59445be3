import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The files of the parts as one asset: the length of the index (32 bits, little-endian), the index, then the files. The index
 * is JSON, with the start and end of each file after it, by its name. If each file were an asset, Node would read the header
 * of each when it starts (`SeaDeserializer` in nodejs/node src/node_sea.cc), and from a cold disk everything around them.
 * The parts that commands use come first, in the order of their use.
 */
export async function packParts(directory: string, files: readonly string[], used: readonly string[]): Promise<Buffer> {
  const rank = (file: string): number => {
    const at = used.indexOf(file.replace(/\.cache$/, ''));
    return at < 0 ? used.length : at;
  };
  const ordered = files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const contents = await Promise.all(ordered.map((file) => readFile(join(directory, file))));
  const index: Record<string, readonly [start: number, end: number]> = {};
  let end = 0;
  for (const [at, file] of ordered.entries()) {
    const start = end;
    end += contents[at]?.length ?? 0;
    index[file] = [start, end];
  }
  const text = Buffer.from(JSON.stringify(index), 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, ...contents]);
}
