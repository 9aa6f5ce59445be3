/**
 * Decoded bytes with their origin. Searching decoded text for a value finds every encoding that decodes to it,
 * including nested ones, which no list of encoded forms can cover.
 */
export interface Decoded {
  readonly bytes: Uint8Array;
  /** The offsets in the source where the encoding of a byte begins and ends. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** 0, 1, 2, … for texts of up to that length: most are lines. */
const PLACES = Int32Array.from({ length: 4097 }, (_, index) => index);

/** The source itself, each byte for itself. */
export function identity(bytes: Uint8Array): Decoded {
  const { length } = bytes;
  const places = length < PLACES.length ? PLACES : Int32Array.from({ length: length + 1 }, (_, index) => index);
  return { bytes, starts: places.subarray(0, length), ends: places.subarray(1, length + 1) };
}

/** Collects decoded bytes with their origin; never more than the source has. */
export class Collector {
  readonly #bytes: Uint8Array;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #source: Decoded;
  #length = 0;

  constructor(source: Decoded) {
    this.#source = source;
    this.#bytes = new Uint8Array(source.bytes.length);
    this.#starts = new Int32Array(source.bytes.length);
    this.#ends = new Int32Array(source.bytes.length);
  }

  /** `from` and `to` are offsets in the source: the encoding of `byte`. */
  add(byte: number, from: number, to: number): void {
    this.#bytes[this.#length] = byte;
    this.#starts[this.#length] = this.#source.starts[from] ?? 0;
    this.#ends[this.#length] = this.#source.ends[to - 1] ?? 0;
    this.#length += 1;
  }

  get result(): Decoded {
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      starts: this.#starts.subarray(0, this.#length),
      ends: this.#ends.subarray(0, this.#length),
    };
  }
}

/** Blanks, control characters, and quotes and backslashes, whose places depend on the quoting. */
export const SQUEEZED_OUT = /[\0-\x20\x7f"'`\\]/g;

const IS_SQUEEZED_OUT = Uint8Array.from({ length: 128 }, (_, byte) =>
  String.fromCharCode(byte).search(SQUEEZED_OUT) < 0 ? 0 : 1,
);

/** Without blanks, line breaks, quotes and backslashes: the rest is independent of folding, indentation and quoting. */
export function squeeze(source: Decoded): Decoded {
  const { bytes } = source;
  const isOut = (byte: number | undefined): boolean => IS_SQUEEZED_OUT[byte ?? 0] === 1;
  let index = 0;
  while (index < bytes.length && !isOut(bytes[index])) index += 1;
  if (index === bytes.length) return source;
  const collected = new Collector(source);
  for (index = 0; index < bytes.length; index += 1)
    if (!isOut(bytes[index])) collected.add(bytes[index] ?? 0, index, index + 1);
  return collected.result;
}
