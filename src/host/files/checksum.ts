import { crc32 } from 'node:zlib';

/**
 * The checksum is the last field of a JSON object, over all text before it: the file stays JSON that jq reads. CRC-32
 * finds every error of up to 32 bits in a row, which is what a disk does to a sector; etcd keeps a CRC of each record of
 * its log, too (etcd server/storage/wal/encoder.go). Not a defence against whoever may write the file.
 */
const NAME = 'crc32';
/** The last field, where it may be the checksum: its name may be damaged, too. */
const FIELD = /,\s*"([^"]{4,6})": ?"([^"]{7,9})"(\s*\})\s*$/;

/** The text of a JSON object with its checksum as the last field, on one line or indented, as the text is; any other text as it is. */
export function withChecksum(json: string): string {
  const object = json.trimEnd();
  if (!object.endsWith('}')) return json;
  const inside = object.slice(0, -1);
  const head = inside.trimEnd();
  const space = inside.slice(head.length);
  const indented = space.includes('\n');
  const field = `,${indented ? '\n  ' : ''}"${NAME}":${indented ? ' ' : ''}"${hex(crc32(head))}"`;
  return `${head}${field}${space}}`;
}

/**
 * The text without its checksum; undefined where they do not belong together. A text that has none is taken as it is:
 * earlier versions wrote none.
 */
export function withoutChecksum(text: string): string | undefined {
  const match = FIELD.exec(text);
  if (match === null) return text;
  const [, name, sum, end] = match;
  const head = text.slice(0, match.index);
  if (hex(crc32(head)) === sum) return `${head}${end}`;
  return name === NAME ? undefined : text;
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}
