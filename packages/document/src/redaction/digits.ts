import type { Decoded } from './decoding.ts';

/** An encoding of bytes as digits: base64 or hexadecimal. */
export interface DigitCode {
  readonly bits: 4 | 6;
  /** The number of possible byte offsets in a run with an unknown beginning. */
  readonly offsets: number;
  /** Value of each byte as a digit; 255 for other bytes. */
  readonly values: Uint8Array;
}

const NO_DIGIT = 255;

/** RFC 4648, 4 and 5: both alphabets at once. */
const BASE64: DigitCode = {
  bits: 6,
  offsets: 4,
  values: valuesOf(['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', `${' '.repeat(62)}-_`]),
};
const HEXADECIMAL: DigitCode = { bits: 4, offsets: 2, values: valuesOf(['0123456789abcdef', '0123456789ABCDEF']) };

export const DIGIT_CODES: readonly DigitCode[] = [BASE64, HEXADECIMAL];

function valuesOf(alphabets: readonly string[]): Uint8Array {
  const values = new Uint8Array(256).fill(NO_DIGIT);
  for (const alphabet of alphabets) {
    for (const [value, digit] of [...alphabet].entries()) if (digit !== ' ') values[digit.charCodeAt(0)] = value;
  }
  return values;
}

/** Digits in a row; `end` is exclusive. */
export interface Run {
  readonly start: number;
  readonly end: number;
}

/** Runs of at least `shortest` digits. */
export function digitRuns({ values }: DigitCode, bytes: Uint8Array, shortest: number): Run[] {
  const found: Run[] = [];
  for (let index = 0; index < bytes.length; index += 1) {
    const start = index;
    while (index < bytes.length && values[bytes[index] ?? 0] !== NO_DIGIT) index += 1;
    if (index - start >= shortest) found.push({ start, end: index });
  }
  return found;
}

/** The decoded bytes of the digits from `start` to `end`; an incomplete last byte is left out. */
export function decodeDigits({ bits, values }: DigitCode, source: Decoded, start: number, end: number): Decoded {
  const length = Math.floor(((end - start) * bits) / 8);
  const bytes = new Uint8Array(length);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  for (let index = 0; index < length; index += 1) {
    const first = start + Math.floor((index * 8) / bits);
    const offset = (index * 8) % bits;
    const pair = ((values[source.bytes[first] ?? 0] ?? 0) << bits) | (values[source.bytes[first + 1] ?? 0] ?? 0);
    bytes[index] = (pair >> (2 * bits - 8 - offset)) & 0xff;
    starts[index] = source.starts[first] ?? 0;
    ends[index] = source.ends[first + 1] ?? 0;
  }
  return { bytes, starts, ends };
}
