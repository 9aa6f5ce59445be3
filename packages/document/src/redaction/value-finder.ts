/** The bytes of a value by which it is looked for. */
export const GRAM = 6;
/** Of a long value so many places are tried for a gram that few other values have: many begin with the same words. */
const MOST_PLACES = 8;
const LEAST_SLOTS = 1024;

/**
 * Finds any of a set of byte strings, each of at least six bytes, in one pass: the hash of each six bytes of a text leads to
 * the values that have these bytes at a known place, which are then compared (Wu and Manber, "A fast algorithm for multi-pattern
 * searching", 1994). An automaton of all values would need a node for each of their bytes: for a thousand files of one
 * kilobyte that takes seconds and 200 MB to build, before the first line is searched.
 */
export class ValueFinder {
  readonly #values: readonly Uint8Array[];
  /** Where the gram of a value begins in it. */
  readonly #places: Int32Array;
  /** The first value of each hash, and the next of the same hash, both plus one; 0 = none. */
  readonly #first: Int32Array;
  readonly #next: Int32Array;
  readonly #shift: number;

  constructor(values: Iterable<Uint8Array>) {
    this.#values = [...values].filter(({ length }) => length >= GRAM);
    const bits = Math.ceil(Math.log2(Math.max(LEAST_SLOTS, this.#values.length * 8)));
    this.#shift = 32 - bits;
    this.#first = new Int32Array(2 ** bits);
    this.#next = new Int32Array(this.#values.length);
    this.#places = new Int32Array(this.#values.length);
    const shared = new Int32Array(2 ** bits);
    for (const [index, value] of this.#values.entries()) {
      const { place, slot } = this.#rarest(value, shared);
      shared[slot] = (shared[slot] ?? 0) + 1;
      this.#places[index] = place;
      this.#next[index] = this.#first[slot] ?? 0;
      this.#first[slot] = index + 1;
    }
  }

  /** Whether a value may have its gram in these six bytes: of four bytes and the two before them. */
  mayMatch(before: number, last: number): boolean {
    return this.#first[this.#slot(before, last)] !== 0;
  }

  /**
   * Calls `found` for each occurrence, in no order. They may overlap; of a value that overlaps itself the parts together are
   * right, not each part. `spend` is told how many bytes were compared, and ends the search by `false`. Returns whether the
   * search came to its end.
   */
  scan(bytes: Uint8Array, found: (start: number, end: number) => void, spend: (bytes: number) => boolean): boolean {
    let [before, last] = [0, 0];
    /** The end of the last occurrence of each value that has one. */
    let reached: Map<number, number> | undefined;
    for (let at = 0; at < bytes.length; at += 1) {
      before = (before << 8) | (last >>> 24);
      last = (last << 8) | (bytes[at] ?? 0);
      if (at < GRAM - 1) continue;
      for (let one = this.#first[this.#slot(before, last)] ?? 0; one !== 0; one = this.#next[one - 1] ?? 0) {
        const value = this.#values[one - 1] ?? bytes;
        const start = at + 1 - GRAM - (this.#places[one - 1] ?? 0);
        const end = start + value.length;
        if (start < 0 || end > bytes.length) continue;
        // What overlaps an occurrence is removed already: a value like "aaaa" would be compared at each place of it again.
        const from = Math.max(start, reached?.get(one) ?? 0);
        let same = from;
        while (same < end && bytes[same] === value[same - start]) same += 1;
        if (!spend(same - from + 1)) return false;
        if (same < end) continue;
        reached ??= new Map();
        reached.set(one, end);
        found(start, end);
      }
    }
    return true;
  }

  /** The place whose gram leads to the fewest values so far. */
  #rarest(value: Uint8Array, shared: Int32Array): { place: number; slot: number } {
    const places = value.length - GRAM;
    const step = Math.max(1, Math.floor(places / (MOST_PLACES - 1)));
    let best = { place: 0, slot: this.#slotAt(value, 0) };
    for (let place = step; place <= places && shared[best.slot] !== 0; place += step) {
      const slot = this.#slotAt(value, place);
      if ((shared[slot] ?? 0) < (shared[best.slot] ?? 0)) best = { place, slot };
    }
    return best;
  }

  #slotAt(value: Uint8Array, place: number): number {
    let [before, last] = [0, 0];
    for (let at = place; at < place + GRAM; at += 1) {
      before = (before << 8) | (last >>> 24);
      last = (last << 8) | (value[at] ?? 0);
    }
    return this.#slot(before, last);
  }

  #slot(before: number, last: number): number {
    const mixed = Math.imul(last ^ Math.imul(before & 0xffff, 0x85ebca6b), 0x9e3779b1);
    return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> this.#shift;
  }
}
