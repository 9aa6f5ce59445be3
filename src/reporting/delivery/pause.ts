/** Before the first retry: short disturbances are over by then, and the report of one machine arrives soon. */
const HICCUP_MS = 2_000;
/** Before later ones: a fleet whose receiver was down or overloaded is spread over this time. */
const USUAL_MS = 60_000;
/** After this many failures it is a longer outage: the ceiling doubles from here. */
const PATIENT_FROM = 12;
const CEILING_MS = 300_000;

/**
 * The pause after this many consecutive failures: random between zero and a ceiling ("full jitter"), so that ten
 * thousand machines do not retry at the same time after an outage. The full ceiling applies from the second failure on.
 * A receiver that reports overload (`afterMs`) serves a fleet: it is not retried soon, not before the given time, and
 * not by all machines at that moment. `scripts/bench/fleet.ts` measures the effect on a fleet.
 */
export function pauseMs(failures: number, afterMs: number | undefined, random: () => number): number {
  if (failures <= 1 && afterMs === undefined) return random() * HICCUP_MS;
  const ceiling = Math.min(CEILING_MS, USUAL_MS * 2 ** Math.min(Math.max(failures - PATIENT_FROM, 0), 20));
  return Math.min(afterMs ?? 0, CEILING_MS) + random() * Math.max(ceiling, Math.min(afterMs ?? 0, CEILING_MS));
}
