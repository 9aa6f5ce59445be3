/**
 * So many of them, drawn by the seed alone: the same each time, in the same order. All where there are no more.
 */
export function sampleOf<T>(all: readonly T[], size: number, seed: number): readonly T[] {
  const random = mulberry32(seed);
  return all
    .map((one) => ({ one, draw: random() }))
    .sort((a, b) => a.draw - b.draw)
    .slice(0, size)
    .map(({ one }) => one);
}

/** A small generator of numbers in [0, 1) that a seed determines (mulberry32, by Tommy Ettinger, in the public domain). */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
