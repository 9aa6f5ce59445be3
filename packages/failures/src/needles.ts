/** Blocks of so many bytes decide how far the search may skip. */
const BLOCK = 3;
const TABLE_BITS = 16;

/**
 * Finds any of a set of byte strings without looking at most of the text: Wu and Manber, "A fast algorithm for
 * multi-pattern searching" (TR 94-17, 1994). A block that ends no string lets the search skip to where one could end.
 * Takes linear time on ordinary text; on text made of the strings' own blocks, each position costs the strings that
 * share the block.
 */
export class Needles {
  readonly #shortest: number;
  /** How far to skip after a block, by its hash; 0 where a string may end its first part. */
  readonly #skip: Uint8Array;
  /** The strings whose first `shortest` bytes end with a block of this hash. */
  readonly #strings: ReadonlyMap<number, readonly { readonly bytes: Uint8Array; readonly id: number }[]>;

  /** The strings have at least four bytes. */
  constructor(strings: readonly Uint8Array[]) {
    const shortest = strings.reduce((least, { length }) => Math.min(least, length), 255);
    this.#shortest = shortest;
    this.#skip = new Uint8Array(1 << TABLE_BITS).fill(shortest - BLOCK + 1);
    const found = new Map<number, { bytes: Uint8Array; id: number }[]>();
    for (const [id, bytes] of strings.entries()) {
      for (let end = BLOCK; end <= shortest; end++) {
        const hash = hashAt(bytes, end - BLOCK);
        this.#skip[hash] = Math.min(this.#skip[hash] ?? 0, shortest - end);
        if (end === shortest) found.set(hash, [...(found.get(hash) ?? []), { bytes, id }]);
      }
    }
    this.#strings = found;
  }

  /** Calls `found` with the number of a string, and where it begins, in the order of the places. */
  scan(text: Uint8Array, found: (id: number, at: number) => void): void {
    const { length } = text;
    const skip = this.#skip;
    const shortest = this.#shortest;
    let at = shortest - BLOCK;
    while (at + BLOCK <= length) {
      const hash = hashAt(text, at);
      const step = skip[hash] ?? 0;
      if (step > 0) {
        at += step;
        continue;
      }
      const start = at + BLOCK - shortest;
      for (const { bytes, id } of this.#strings.get(hash) ?? []) {
        if (start + bytes.length <= length && isAt(text, start, bytes)) found(id, start);
      }
      at++;
    }
  }
}

function hashAt(text: Uint8Array, at: number): number {
  return ((text[at] ?? 0) ^ ((text[at + 1] ?? 0) << 5) ^ ((text[at + 2] ?? 0) << 10)) & ((1 << TABLE_BITS) - 1);
}

function isAt(text: Uint8Array, start: number, string: Uint8Array): boolean {
  for (let index = 0; index < string.length; index++) if (text[start + index] !== string[index]) return false;
  return true;
}
