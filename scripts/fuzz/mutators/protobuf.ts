import type { Random } from '../random.ts';
import type { Mutation } from '../target.ts';

/** A field in the wire format (protobuf.dev/programming-guides/encoding). */
interface Field {
  key: number;
  /** Varint, fixed bytes, or the content of a length-delimited field. */
  content: string;
  /** A length that does not match the content. */
  length?: string;
}

const VARINTS = [
  '\x00',
  '\x7f',
  '\x80\x01',
  `${'\xff'.repeat(9)}\x01`,
  '\xff'.repeat(12),
  '\x80',
  '\xff\xff\xff\xff\x0f',
];

/** Changes one field of a message or of a nested message, and corrects the enclosing lengths. */
export const protobuf: Mutation = (random, input) => {
  const fields = decode(input);
  if (fields === undefined || fields.length === 0) return undefined;
  const at = random.below(fields.length);
  const field = fields[at];
  if (field === undefined) return undefined;
  const inner = (field.key & 7) === 2 && random.below(3) > 0 ? protobuf(random, field.content) : undefined;
  if (inner !== undefined) field.content = inner;
  else changeField(random, fields, at, field);
  return fields.map(encode).join('');
};

function changeField(random: Random, fields: Field[], at: number, field: Field): void {
  switch (random.below(6)) {
    case 0:
      field.key = (field.key & ~7) | random.below(8);
      break;
    case 1:
      field.key = (random.below(20) << 3) | (field.key & 7);
      break;
    case 2:
      if ((field.key & 7) === 2) field.length = random.pick(VARINTS);
      else field.content = random.pick(VARINTS);
      break;
    case 3:
      fields.splice(at, 1);
      break;
    case 4:
      fields.splice(at, 0, { ...field });
      break;
    default:
      field.content = String.fromCharCode(random.below(256)).repeat(random.below(20));
  }
}

function decode(bytes: string): Field[] | undefined {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length; ) {
    const key = varintAt(bytes, at);
    if (key === undefined) return undefined;
    const from = key.end;
    const type = key.value & 7;
    const value = type === 0 || type === 2 ? varintAt(bytes, from) : undefined;
    let [start, end] = [from, from + (type === 1 ? 8 : 4)];
    if (type === 0 && value !== undefined) end = value.end;
    else if (type === 2 && value !== undefined) [start, end] = [value.end, value.end + value.value];
    else if (type !== 1 && type !== 5) return undefined;
    if (end > bytes.length) return undefined;
    fields.push({ key: key.value, content: bytes.slice(start, end) });
    at = end;
  }
  return fields;
}

function varintAt(bytes: string, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let octet = 0; octet < 5 && at + octet < bytes.length; octet++) {
    const byte = bytes.charCodeAt(at + octet);
    value += (byte & 0x7f) * 2 ** (7 * octet);
    if (byte < 0x80) return { value, end: at + octet + 1 };
  }
  return undefined;
}

function encode({ key, content, length }: Field): string {
  const delimiter = (key & 7) === 2 ? (length ?? varint(content.length)) : '';
  return varint(key) + delimiter + content;
}

/** Encodes a number as a varint. */
export function varint(value: number): string {
  let [bytes, rest] = ['', value];
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes += String.fromCharCode((rest & 0x7f) | 0x80);
  return bytes + String.fromCharCode(rest);
}
