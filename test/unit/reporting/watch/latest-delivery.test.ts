import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { DeliveryResult, RemoteSink } from '../../../../src/reporting/remote/remote-sink.ts';
import { LatestDelivery } from '../../../../src/reporting/watch/latest-delivery.ts';
import { watchEvent } from '../../../../src/reporting/watch/watch-event.ts';
import { deliveryContext } from '../../../support/delivery.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { at } from '../runs.ts';

const { signal: _, ...CONTEXT } = deliveryContext();

function event(sequence: number): ReportEvent {
  const identity = {
    runId: 'watch-1',
    agent: { version: '0.1.0' },
    machine: { name: 'node-1' },
    host: { machineId: 'm', bootId: 'b', hostname: 'node-1' },
    document: { sha256: '' },
  };
  const condition = {
    type: 'machineadm.dev/NodeHealthy',
    status: 'True',
    reason: 'NodeWorks',
    message: '',
    lastTransitionTime: '2026-11-20T10:00:00.000Z',
  } as const;
  return watchEvent(identity, condition, sequence, at(sequence));
}

/** A sink that answers as told, in turn, the last answer for ever; each delivery waits for `open`. */
function sinkThat(answers: readonly DeliveryResult[], open: Promise<void> = Promise.resolve()) {
  const got: string[] = [];
  const sink: RemoteSink = {
    kind: 'Test',
    target: 'nowhere',
    capacity: 4096,
    async deliver({ id }) {
      await open;
      got.push(id);
      return answers[Math.min(got.length, answers.length) - 1] ?? { kind: 'delivered' };
    },
  };
  return { sink, got };
}

function deliveryTo(sink: RemoteSink, signal = new AbortController().signal) {
  const news: string[] = [];
  const delivery = new LatestDelivery({
    name: 'test',
    sink,
    timeoutMs: 1_000,
    context: CONTEXT,
    signal,
    random: () => 0.01,
    onNews: (message) => news.push(message),
  });
  return { delivery, news };
}

describe('the sink of a watch', () => {
  test('gets what is offered', async () => {
    const { sink, got } = sinkThat([{ kind: 'delivered' }]);
    const { delivery, news } = deliveryTo(sink);
    for (const sequence of [1, 2]) {
      delivery.offer(event(sequence));
      await delivery.idle();
    }
    assert.deepEqual(got, ['watch-1.1', 'watch-1.2']);
    assert.deepEqual(news, []);
  });

  test('that is slow gets the last of what was offered meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    const { sink, got } = sinkThat([{ kind: 'delivered' }], gate.promise);
    const { delivery } = deliveryTo(sink);
    for (const sequence of [1, 2, 3]) delivery.offer(event(sequence));
    gate.resolve();
    await delivery.idle();
    assert.deepEqual(got, ['watch-1.1', 'watch-1.3']);
  });

  test('that fails is tried again until it has it, and that is said once for each cause', async () => {
    const retry = (why: string): DeliveryResult => ({ kind: 'retry', why });
    const { sink, got } = sinkThat([retry('away'), retry('away'), retry('busy'), { kind: 'delivered' }]);
    const { delivery, news } = deliveryTo(sink);
    delivery.offer(event(1));
    await delivery.idle();
    assert.deepEqual(got, Array(4).fill('watch-1.1'));
    assert.deepEqual(news, [
      'sink test (nowhere) did not accept the state of the node: away',
      'sink test (nowhere) did not accept the state of the node: busy',
      'sink test (nowhere) receives reports again',
    ]);
  });

  test('that refuses for good is not asked again with the same', async () => {
    const { sink, got } = sinkThat([{ kind: 'refused', why: 'too large' }]);
    const { delivery, news } = deliveryTo(sink);
    delivery.offer(event(1));
    await delivery.idle();
    assert.deepEqual(got, ['watch-1.1']);
    assert.match(news.join(), /refused permanently: too large/);
  });

  test('does not delay the end of a watch', async () => {
    using clock = fakeClock();
    const stop = new AbortController();
    const { sink } = sinkThat([{ kind: 'retry', why: 'away', afterMs: 60_000 }]);
    const { delivery } = deliveryTo(sink, stop.signal);
    delivery.offer(event(1));
    clock.at(50, () => stop.abort());
    await clock.until(delivery.idle());
    assert.deepEqual([clock.pauses.length, clock.passedMs], [1, 50]);
    assert.ok((clock.pauses[0] ?? 0) >= 60_000, 'it would have waited for a minute');
  });
});
