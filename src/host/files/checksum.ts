import { crc32 } from 'node:zlib';

/**
 * The checksum is the last field of a JSON object and covers all text before it, so the file stays JSON that jq reads.
 * CRC-32 detects every error burst of up to 32 bits; etcd also keeps a CRC of each record of its log (etcd
 * server/storage/wal/encoder.go). It is no defence against a user who may write the file.
 */
const NAME = 'crc32';
/** The last field, in case it is the checksum with a damaged name. */
const FIELD = /,\s*"([^"]{4,6})": ?"([^"]{7,9})"(\s*\})\s*$/;

/** The text of a JSON object with its checksum as the last field, indented as the text is; any other text unchanged. */
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
 * The text without its checksum; undefined where the checksum is wrong. A text without one is returned unchanged:
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

/** The value of a JSON text with or without a checksum; undefined where it is damaged, or there is none. */
export function checksummedJson(text: string | undefined): unknown {
  try {
    return JSON.parse(withoutChecksum(text ?? '') ?? '');
  } catch {
    return undefined;
  }
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}
