import { Collector, type Decoded } from './decoding.ts';

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;

/** `\n` and similar, in JSON, YAML, C, Go, Python and `$'…'` of shells. */
const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, b: 8, f: 12, v: 11, a: 7, e: 27 };
/** XML 1.0, 4.6. */
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const LONGEST_ENTITY = 10;

/** A decoded escape: its bytes, and its length in the source. */
interface Spelling {
  readonly bytes: readonly number[];
  readonly length: number;
}

export function mayHoldEscapes(bytes: Uint8Array): boolean {
  return [BACKSLASH, PERCENT, AMPERSAND].some((byte) => bytes.includes(byte));
}

/**
 * Decodes one layer of escapes: backslashes (with `\uXXXX` of Go and Python, `\xXX`, octal), percent-encoding and XML
 * entities. undefined without any.
 */
export function withoutEscapes(source: Decoded): Decoded | undefined {
  const { bytes } = source;
  if (!mayHoldEscapes(bytes)) return undefined;
  const collected = new Collector(source);
  let changed = false;
  for (let index = 0; index < bytes.length; ) {
    const spelling = spellingAt(bytes, index);
    if (spelling === undefined) {
      collected.add(bytes[index] ?? 0, index, index + 1);
      index += 1;
      continue;
    }
    changed = true;
    for (const byte of spelling.bytes) collected.add(byte, index, index + spelling.length);
    index += spelling.length;
  }
  return changed ? collected.result : undefined;
}

function spellingAt(bytes: Uint8Array, index: number): Spelling | undefined {
  switch (bytes[index]) {
    case BACKSLASH:
      return backslash(bytes, index);
    case PERCENT: {
      const byte = hexNumber(bytes, index + 1, 2);
      return byte === undefined ? undefined : { bytes: [byte], length: 3 };
    }
    case AMPERSAND:
      return entity(bytes, index);
    default:
      return undefined;
  }
}

function backslash(bytes: Uint8Array, index: number): Spelling | undefined {
  const byte = bytes[index + 1];
  if (byte === undefined) return undefined;
  const letter = String.fromCharCode(byte);
  // A line that is continued.
  if (letter === '\n') return { bytes: [], length: 2 };
  if (letter === 'u') {
    const first = hexNumber(bytes, index + 2, 4);
    if (first === undefined) return undefined;
    const second = isEscape(bytes, index + 6) ? hexNumber(bytes, index + 8, 4) : undefined;
    if (first >= 0xd800 && first < 0xdc00 && second !== undefined && second >= 0xdc00 && second < 0xe000) {
      return { bytes: utf8(0x10000 + (first - 0xd800) * 0x400 + (second - 0xdc00)), length: 12 };
    }
    return { bytes: utf8(first), length: 6 };
  }
  if (letter === 'U') {
    const point = hexNumber(bytes, index + 2, 8);
    return point === undefined || point > 0x10ffff ? undefined : { bytes: utf8(point), length: 10 };
  }
  if (letter === 'x') {
    const value = hexNumber(bytes, index + 2, 2);
    return value === undefined ? undefined : { bytes: [value], length: 4 };
  }
  const octal = octalNumber(bytes, index + 1);
  if (octal !== undefined) return { bytes: [octal], length: 4 };
  return { bytes: [CONTROLS[letter] ?? byte], length: 2 };
}

function isEscape(bytes: Uint8Array, index: number): boolean {
  return bytes[index] === BACKSLASH && bytes[index + 1] === 0x75;
}

function entity(bytes: Uint8Array, index: number): Spelling | undefined {
  const end = bytes.subarray(index, index + LONGEST_ENTITY + 2).indexOf(0x3b);
  if (end < 2) return undefined;
  const name = String.fromCharCode(...bytes.subarray(index + 1, index + end));
  const length = end + 1;
  const number = /^#(?:x([0-9a-f]+)|([0-9]+))$/i.exec(name);
  if (number !== null) {
    const point = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16);
    return point > 0x10ffff ? undefined : { bytes: utf8(point), length };
  }
  const text = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
  return text === undefined ? undefined : { bytes: [text.charCodeAt(0)], length };
}

/** The value of `digits` hexadecimal digits at `index`; undefined for other characters. */
function hexNumber(bytes: Uint8Array, index: number, digits: number): number | undefined {
  let value = 0;
  for (let at = index; at < index + digits; at += 1) {
    const digit = hexDigit(bytes[at]);
    if (digit === undefined) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

function octalNumber(bytes: Uint8Array, index: number): number | undefined {
  let value = 0;
  for (let at = index; at < index + 3; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 7) return undefined;
    value = value * 8 + digit;
  }
  return value > 255 ? undefined : value;
}

/** 0 to 15; undefined for a character that is not a hexadecimal digit. */
function hexDigit(byte: number | undefined): number | undefined {
  if (byte === undefined) return undefined;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}

/** A surrogate without its other half becomes U+FFFD, as in every encoder. */
function utf8(point: number): readonly number[] {
  return [...new TextEncoder().encode(String.fromCodePoint(point))];
}
