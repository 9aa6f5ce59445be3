/** Before the first repetition: what was a hiccup is over by then, and the report of one machine comes soon. */
const HICCUP_MS = 2_000;
/** Before those that follow: a fleet whose receiver was away, or cannot take it all at once, spreads over this. */
const USUAL_MS = 60_000;
/** So many in vain, and it is no outage of some minutes any more: the ceiling doubles from here. */
const PATIENT_FROM = 12;
const CEILING_MS = 300_000;

/**
 * How long to wait after so many failures in a row: drawn anew from zero up to a ceiling ("full jitter"), so that ten
 * thousand machines whose receiver was away do not come back together. The ceiling is that of many at once from the second
 * failure on. A receiver that says that it has too much to do (`afterMs`) has a fleet before it: it is not asked soon, not
 * before the time that it named, and not by all machines at that very moment. `scripts/bench/fleet.ts` measures what this
 * makes of a fleet.
 */
export function pauseMs(failures: number, afterMs: number | undefined, random: () => number): number {
  if (failures <= 1 && afterMs === undefined) return random() * HICCUP_MS;
  const ceiling = Math.min(CEILING_MS, USUAL_MS * 2 ** Math.min(Math.max(failures - PATIENT_FROM, 0), 20));
  return Math.min(afterMs ?? 0, CEILING_MS) + random() * Math.max(ceiling, Math.min(afterMs ?? 0, CEILING_MS));
}
