import { syncBuiltinESMExports } from 'node:module';
import { after, before } from 'node:test';
import timers from 'node:timers/promises';

/** A pause of one second takes 20 ms. */
const FACTOR = 50;

/**
 * In the tests of a `describe`, what looks again after a pause (`node:timers/promises`) does so sooner, and `performance.now`
 * has advanced by the whole pause. Timers are real, unlike those of `fakeClock`: for tests with servers and processes that
 * answer at once.
 */
export function shortPauses(): void {
  const { setTimeout: real } = timers;
  const now = performance.now.bind(performance);
  let saved = 0;
  const set = (pause: unknown): void => {
    Object.assign(timers, { setTimeout: pause });
    syncBuiltinESMExports();
  };
  before(() => {
    performance.now = () => now() + saved;
    set(async (ms = 1, ...rest: [unknown?, object?]) => {
      const result = await real(ms / FACTOR, ...rest);
      saved += ms - ms / FACTOR;
      return result;
    });
  });
  after(() => {
    performance.now = now;
    set(real);
  });
}
