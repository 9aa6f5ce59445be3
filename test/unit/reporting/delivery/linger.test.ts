import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Round, untilTaken } from '../../../../src/reporting/delivery/linger.ts';

const signal = new AbortController().signal;

/** Rounds with these ends, one after the other; what each was given is noted. */
function rounds(...ends: readonly (Round | undefined)[]) {
  const given: (readonly [number, boolean])[] = [];
  const deliver = async (withinMs: number, isFirst: boolean): Promise<Round | undefined> => {
    given.push([withinMs, isFirst]);
    return ends[given.length - 1];
  };
  return { deliver, given };
}

describe('deliveries that go on until all is taken', () => {
  test('are one round where nothing is due, or nobody lingers', async () => {
    const [all, some] = [rounds({}), rounds({ nextInMs: 1 })];
    await untilTaken(all.deliver, { withinMs: 500, lingerMs: 60_000, signal });
    assert.deepEqual(await untilTaken(some.deliver, { withinMs: 500, lingerMs: 0, signal }), { nextInMs: 1 });
    assert.deepEqual([all.given, some.given], [[[500, true]], [[500, true]]]);
  });

  test('make each try when it is due, and end when nothing is', async () => {
    const { deliver, given } = rounds({ nextInMs: 20 }, { nextInMs: 10 }, {});
    const began = performance.now();
    await untilTaken(deliver, { withinMs: 500, lingerMs: 60_000, signal });
    assert.deepEqual(
      given.map(([, isFirst]) => isFirst),
      [true, false, false],
    );
    assert.ok(performance.now() - began >= 28, 'not before they were due');
  });

  test('do not wait for what is due after their time', async () => {
    const { deliver, given } = rounds({ nextInMs: 60_000 });
    await untilTaken(deliver, { withinMs: 10, lingerMs: 50, signal });
    assert.equal(given.length, 1);
  });

  test('leave it to another process that delivers meanwhile, and keep what they knew', async () => {
    const { deliver, given } = rounds({ nextInMs: 5 }, undefined);
    assert.deepEqual(await untilTaken(deliver, { withinMs: 10, lingerMs: 60_000, signal }), { nextInMs: 5 });
    assert.equal(given.length, 2);
  });

  test('end at once when they are stopped', async () => {
    const stop = new AbortController();
    const { deliver, given } = rounds({ nextInMs: 50_000 });
    const ended = untilTaken(deliver, { withinMs: 10, lingerMs: 60_000, signal: stop.signal });
    stop.abort();
    await ended;
    assert.equal(given.length, 1);
  });
});
