/** Between two tries: the ceiling doubles from a second up to five minutes. */
const FIRST_CEILING_MS = 1_000;
const CEILING_MS = 300_000;

/**
 * How long to wait after so many failures in a row: drawn anew from zero up to the ceiling ("full jitter"), so that ten
 * thousand machines whose receiver was away do not come back together. A receiver that said when is not asked before
 * that, nor by all machines at that very moment.
 */
export function pauseMs(failures: number, afterMs: number | undefined, random: () => number): number {
  const ceiling = Math.min(CEILING_MS, FIRST_CEILING_MS * 2 ** Math.min(failures - 1, 20));
  const drawn = random() * ceiling;
  return afterMs === undefined ? drawn : Math.min(afterMs, CEILING_MS) + Math.max(drawn, random() * afterMs);
}
