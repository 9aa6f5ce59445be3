/** A range of bytes: `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const ROOT = 0;
const NOTHING = -1;

/**
 * Finds any of a set of byte strings in one pass: Aho and Corasick, "Efficient string matching: an aid to bibliographic
 * search" (CACM 18.6, 1975). Takes linear time for every input.
 */
export class Automaton {
  /** Children of all nodes in one open-addressing table: key = node * 256 + byte. */
  readonly #keys: Int32Array;
  readonly #children: Int32Array;
  readonly #mask: number;
  readonly #shift: number;
  readonly #fallback: Int32Array;
  /** Length of the longest string that ends in a node, 0 = none. */
  readonly #longest: Int32Array;
  readonly #fromRoot = new Int32Array(256);

  constructor(strings: Iterable<Uint8Array>) {
    const all = [...strings].filter(({ length }) => length > 0);
    const most = all.reduce((total, { length }) => total + length, 1);
    const bits = Math.max(4, Math.ceil(Math.log2(most * 2)));
    this.#keys = new Int32Array(2 ** bits).fill(NOTHING);
    this.#children = new Int32Array(2 ** bits);
    this.#mask = 2 ** bits - 1;
    this.#shift = 32 - bits;
    this.#fallback = new Int32Array(most);
    this.#longest = new Int32Array(most);
    this.#build(all);
  }

  /** The node after `byte` was read in `node`; start with 0. */
  next(node: number, byte: number): number {
    for (let at = node; at !== ROOT; at = this.#fallback[at] ?? ROOT) {
      const child = this.#child(at, byte);
      if (child !== NOTHING) return child;
    }
    return this.#fromRoot[byte] ?? ROOT;
  }

  /** The length of the longest string that ends at this node; 0 = none. */
  lengthAt(node: number): number {
    return this.#longest[node] ?? 0;
  }

  /** Calls `found` for the longest string that ends at each position, in the order of the ends. */
  scan(bytes: Uint8Array, found: (start: number, end: number) => void): void {
    let node = ROOT;
    for (let index = 0; index < bytes.length; index += 1) {
      const byte = bytes[index] ?? 0;
      node = node === ROOT ? (this.#fromRoot[byte] ?? ROOT) : this.next(node, byte);
      if (node === ROOT) continue;
      const length = this.#longest[node] ?? 0;
      if (length > 0) found(index + 1 - length, index + 1);
    }
  }

  #build(strings: readonly Uint8Array[]): void {
    let count = 1;
    const parents: number[] = [NOTHING];
    const bytes: number[] = [0];
    const depths: number[] = [0];
    for (const string of strings) {
      let node = ROOT;
      for (const byte of string) {
        let child = this.#child(node, byte);
        if (child === NOTHING) {
          child = count;
          count += 1;
          this.#insert(node, byte, child);
          parents.push(node);
          bytes.push(byte);
          depths.push((depths[node] ?? 0) + 1);
        }
        node = child;
      }
      this.#longest[node] = string.length;
    }
    this.#link(count, parents, bytes, depths);
  }

  /** Fallbacks, breadth first: a node's fallback is always less deep than the node. */
  #link(count: number, parents: readonly number[], bytes: readonly number[], depths: readonly number[]): void {
    const order = Array.from({ length: count - 1 }, (_, index) => index + 1);
    order.sort((a, b) => (depths[a] ?? 0) - (depths[b] ?? 0));
    for (const node of order) {
      const parent = parents[node] ?? ROOT;
      const byte = bytes[node] ?? 0;
      if (parent === ROOT) {
        this.#fromRoot[byte] = node;
        continue;
      }
      const fallback = this.next(this.#fallback[parent] ?? ROOT, byte);
      this.#fallback[node] = fallback;
      if (this.#longest[node] === 0) this.#longest[node] = this.#longest[fallback] ?? 0;
    }
  }

  #slot(key: number): number {
    let slot = Math.imul(key, 0x9e3779b1) >>> this.#shift;
    for (;;) {
      const there = this.#keys[slot];
      if (there === key || there === NOTHING) return slot;
      slot = (slot + 1) & this.#mask;
    }
  }

  #child(node: number, byte: number): number {
    const slot = this.#slot(node * 256 + byte);
    return this.#keys[slot] === NOTHING ? NOTHING : (this.#children[slot] ?? NOTHING);
  }

  #insert(node: number, byte: number, child: number): void {
    const slot = this.#slot(node * 256 + byte);
    this.#keys[slot] = node * 256 + byte;
    this.#children[slot] = child;
  }
}
