/**
 * Bytes that stand for other bytes, and where each came from. Searching decoded text for a value finds every way of
 * writing it that decodes to it, also ways inside each other, which no list of encoded forms can hold.
 */
export interface Decoded {
  readonly bytes: Uint8Array;
  /** Where the spelling of a byte begins in the source, and where it ends. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** The source itself, each byte standing for itself. */
export function identity(bytes: Uint8Array): Decoded {
  const starts = new Int32Array(bytes.length);
  const ends = new Int32Array(bytes.length);
  for (let index = 0; index < bytes.length; index += 1) {
    starts[index] = index;
    ends[index] = index + 1;
  }
  return { bytes, starts, ends };
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

  /** `from` and `to` are places in the source: the spelling of `byte`. */
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

/** Quotes and backslashes, whose place depends on who quoted. */
const QUOTING: readonly number[] = [0x22, 0x27, 0x60, 0x5c];
const SQUEEZED_OUT = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= 0x20 || byte === 0x7f || QUOTING.includes(byte) ? 1 : 0,
);

/**
 * Without blanks, line breaks, quotes and backslashes: what is left is the same however a text was folded, indented or
 * quoted.
 */
export function squeeze(source: Decoded): Decoded {
  const collected = new Collector(source);
  for (let index = 0; index < source.bytes.length; index += 1) {
    const byte = source.bytes[index] ?? 0;
    if (SQUEEZED_OUT[byte] === 0) collected.add(byte, index, index + 1);
  }
  return collected.result;
}
