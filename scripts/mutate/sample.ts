/**
 * A random sample in random order, determined by the seed. Contains all items if there are not more than `size`.
 */
export function sampleOf<T>(all: readonly T[], size: number, seed: number): readonly T[] {
  const random = mulberry32(seed);
  return all
    .map((one) => ({ one, draw: random() }))
    .sort((a, b) => a.draw - b.draw)
    .slice(0, size)
    .map(({ one }) => one);
}

/** A seeded pseudorandom number generator for [0, 1) (mulberry32, by Tommy Ettinger, in the public domain). */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
