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

/** The source itself, each byte for itself. */
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

/** Quotes and backslashes, whose places depend on the quoting. */
const QUOTING: readonly number[] = [0x22, 0x27, 0x60, 0x5c];
const SQUEEZED_OUT = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= 0x20 || byte === 0x7f || QUOTING.includes(byte) ? 1 : 0,
);

/** The bytes that `squeeze` leaves, without their origin. */
export function squeezedBytes(bytes: Uint8Array): Uint8Array {
  const kept = new Uint8Array(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (SQUEEZED_OUT[byte] !== 0) continue;
    kept[length] = byte;
    length += 1;
  }
  return kept.subarray(0, length);
}

/** Without blanks, line breaks, quotes and backslashes: the rest is independent of folding, indentation and quoting. */
export function squeeze(source: Decoded): Decoded {
  const collected = new Collector(source);
  for (let index = 0; index < source.bytes.length; index += 1) {
    const byte = source.bytes[index] ?? 0;
    if (SQUEEZED_OUT[byte] === 0) collected.add(byte, index, index + 1);
  }
  return collected.result;
}
