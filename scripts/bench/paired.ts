/** What pairs of runs say, of the new program and the old one in turn. */
export type Verdict = 'slower' | 'not slower' | 'open';

/** A program that is slower by this is refused. */
export const SLOWER = 1.1;
/** With what probability a program that is slower by exactly that is refused, at each look. */
const CHANCE = 0.001;
/** With what probability one that is slower by more passes early; at the end it passes unless it was refused. */
const EARLY_CHANCE = 0.05;
/** Of fewer pairs nothing is said. */
const LEAST_PAIRS = 10;

/**
 * Whether the new program is slower, by the ratios new to old of the pairs: a sign test, which asks only how many are above
 * the bound. It supposes nothing of how the noise is distributed, and one run that took ten times as long counts like any other. What
 * keeps a machine busy for longer falls on both of a pair.
 */
export function verdictOf(ratios: readonly number[]): Verdict {
  if (ratios.length < LEAST_PAIRS) return 'open';
  const above = ratios.filter((ratio) => ratio > SLOWER).length;
  if (atLeast(above, ratios.length) <= CHANCE) return 'slower';
  return atLeast(ratios.length - above, ratios.length) <= EARLY_CHANCE ? 'not slower' : 'open';
}

/** The probability that of n coins at least k show heads. */
export function atLeast(k: number, n: number): number {
  let [probability, sum] = [0.5 ** n, 0];
  for (let heads = 0; heads <= n; heads += 1) {
    if (heads >= k) sum += probability;
    probability *= (n - heads) / (heads + 1);
  }
  return sum;
}

/** What is compared of two programs: the processor seconds of one run of each. */
export interface Compared {
  readonly what: string;
  readonly seconds: (program: 'old' | 'new') => number;
}

/** The outcome of one comparison. */
export interface Comparison {
  readonly what: string;
  readonly isSlower: boolean;
  readonly pairs: number;
  /** The median of the ratios. */
  readonly ratio: number;
}

/**
 * Compares, pair by pair, until it is clear, or `mayGoOn` says that there is no time left. A program that seems slower is compared
 * once more from the beginning, and refused only where both agree: what came over the machine between the two is not its fault.
 */
export function compare({ what, seconds }: Compared, mostPairs: number, mayGoOn: () => boolean): Comparison {
  const all: number[] = [];
  const series = (): Verdict => {
    const ratios: number[] = [];
    let verdict: Verdict = 'open';
    while (verdict === 'open' && ratios.length < mostPairs && mayGoOn()) {
      // In turn which is first: the second finds the caches as the first left them.
      const isNewFirst = all.length % 2 === 0;
      const first = seconds(isNewFirst ? 'new' : 'old');
      const second = seconds(isNewFirst ? 'old' : 'new');
      const ratio = isNewFirst ? first / second : second / first;
      ratios.push(ratio);
      all.push(ratio);
      verdict = verdictOf(ratios);
    }
    return verdict;
  };
  const isSlower = series() === 'slower' && series() === 'slower';
  const sorted = all.toSorted((a, b) => a - b);
  return { what, isSlower, pairs: all.length, ratio: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN };
}
