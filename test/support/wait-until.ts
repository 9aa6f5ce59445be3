import assert from 'node:assert/strict';
import timers from 'node:timers/promises';

/** Of the real clock, where a test has replaced it by a fake one. */
const pause = timers.setTimeout;
/** Looked at so often. */
const LOOK_EVERY_MS = 10;
/** So often that no machine, however busy, needs more: a limit for what never comes, and no judgement of how long it takes. */
const MOST_LOOKS = 12_000;

/** Waits for a condition, and for nothing else; fails with what was waited for. */
export async function waitUntil(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let looks = 0; !(await isSo()); looks += 1) {
    assert.ok(looks < MOST_LOOKS, `waited in vain: ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}
