import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Sink } from '../../../src/reporting/sink.ts';
import { SinkQueue } from '../../../src/reporting/sink-queue.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { statusAfter } from './runs.ts';

/** A sink that takes its time for each delivery, and what became of one event. */
async function deliveredBy(patience: Sink['patience']): Promise<{ delivered: number; troubles: string[] }> {
  using clock = fakeClock({ deadlines: true });
  let delivered = 0;
  const taken = Promise.withResolvers<void>();
  const troubles: string[] = [];
  const sink: Sink = {
    name: 'Slow',
    ...(patience === undefined ? {} : { patience }),
    async open() {},
    async deliver(_event, signal) {
      clock.at(200, () => {
        if (!signal.aborted) delivered += 1;
        taken.resolve();
      });
      await taken.promise;
    },
    async close() {},
  };
  const queue = new SinkQueue({ sink, deliveryMs: 1, onTrouble: (message) => troubles.push(message) });
  queue.push({ kind: 'started', status: statusAfter() });
  await clock.until(queue.close(1));
  return { delivered, troubles };
}

describe('a sink that is slow by its nature', () => {
  test('is awaited as long as it requests, though others are not', async () => {
    assert.deepEqual(await deliveredBy({ deliveryMs: 60_000, closingMs: 60_000 }), { delivered: 1, troubles: [] });
  });

  test('that requests nothing has the same time as the others', async () => {
    const { delivered, troubles } = await deliveredBy(undefined);
    assert.equal(delivered, 0);
    assert.match(troubles[0] ?? '', /^sink Slow /);
  });
});
