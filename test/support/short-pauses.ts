import { syncBuiltinESMExports } from 'node:module';
import { after, before } from 'node:test';
import timers from 'node:timers/promises';

/** A pause of one second takes 100 ms. */
const FACTOR = 10;

/**
 * In the tests of a `describe`, what looks again after a pause (`node:timers/promises`) does so sooner. Clocks and deadlines are
 * real, unlike those of `fakeClock`: for tests with servers and processes that answer at once.
 */
export function shortPauses(): void {
  const { setTimeout: real } = timers;
  const set = (pause: unknown): void => {
    Object.assign(timers, { setTimeout: pause });
    syncBuiltinESMExports();
  };
  before(() => set((ms = 1, ...rest: [unknown?, object?]) => real(ms / FACTOR, ...rest)));
  after(() => set(real));
}
