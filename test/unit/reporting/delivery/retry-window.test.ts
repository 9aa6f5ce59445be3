import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Due, untilTaken } from '../../../../src/reporting/delivery/retry-window.ts';
import { fakeClock } from '../../../support/fake-clock.ts';

const signal = new AbortController().signal;
const due = (sinks: Readonly<Record<string, number>> = {}): Due => new Map(Object.entries(sinks));

/** Rounds with these ends, one after the other; what each was given is noted. */
function rounds(...ends: readonly (Due | undefined)[]) {
  const given: (readonly string[] | 'all')[] = [];
  const deliver = async (_: number, only: ReadonlySet<string> | undefined): Promise<Due | undefined> => {
    given.push(only === undefined ? 'all' : [...only]);
    return ends[given.length - 1];
  };
  return { deliver, given };
}

describe('deliveries that go on until all is taken', () => {
  test('are one round if nothing is due, or no retry window is set', async () => {
    const [all, some] = [rounds(due()), rounds(due({ a: 1 }))];
    await untilTaken(all.deliver, { withinMs: 500, lingerMs: 60_000, signal });
    await untilTaken(some.deliver, { withinMs: 500, lingerMs: 0, signal });
    assert.deepEqual([all.given, some.given], [['all'], ['all']]);
  });

  test('try each sink when it is due and none before, and end when nothing is due', async () => {
    const { deliver, given } = rounds(due({ a: 20, b: 300 }), due({ a: 10 }), due(), due());
    using clock = fakeClock();
    await clock.until(untilTaken(deliver, { withinMs: 500, lingerMs: 60_000, signal }));
    assert.deepEqual(given, ['all', ['a'], ['a'], ['b']]);
    assert.deepEqual([clock.pauses, clock.passedMs], [[20, 10, 270], 300]);
  });

  test('do not wait for events that are due after their time', async () => {
    const { deliver, given } = rounds(due({ a: 60_000 }));
    await untilTaken(deliver, { withinMs: 10, lingerMs: 50, signal });
    assert.deepEqual(given, ['all']);
  });

  test('are left to another process that delivers meanwhile', async () => {
    const { deliver, given } = rounds(due({ a: 5, b: 10 }), undefined);
    using clock = fakeClock();
    await clock.until(untilTaken(deliver, { withinMs: 10, lingerMs: 60_000, signal }));
    assert.deepEqual(given, ['all', ['a']]);
  });

  test('end at once when they are stopped', async () => {
    const stop = new AbortController();
    const { deliver, given } = rounds(due({ a: 50_000 }));
    const ended = untilTaken(deliver, { withinMs: 10, lingerMs: 60_000, signal: stop.signal });
    stop.abort();
    await ended;
    assert.deepEqual(given, ['all']);
  });
});
