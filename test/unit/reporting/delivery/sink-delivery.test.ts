import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { deliverSink, type SinkDelivery } from '../../../../src/reporting/delivery/sink-delivery.ts';
import type { DeliveryResult, RemoteSink } from '../../../../src/reporting/remote/remote-sink.ts';
import { Spool } from '../../../../src/reporting/spool/spool.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { reported } from '../events.ts';
import { at } from '../runs.ts';

const DELIVERED: DeliveryResult = { kind: 'delivered' };
const RETRY: DeliveryResult = { kind: 'retry', why: 'HTTP 503' };

/** A sink that answers with these results in turn, then with the last for ever; it notes what it was asked. */
function answering(...results: readonly DeliveryResult[]) {
  const asked: ReportEvent[] = [];
  const sink: RemoteSink = {
    kind: 'Test',
    target: 'nowhere',
    capacity: 4096,
    deliver: async (event) => {
      asked.push(event);
      return results[Math.min(asked.length, results.length) - 1] ?? DELIVERED;
    },
  };
  return { sink, ids: () => asked.map(({ id }) => id), asked };
}

async function spoolOf(...events: readonly ReportEvent[]): Promise<Spool> {
  const spool = new Spool(memoryHost());
  for (const event of events) await spool.add('a', event);
  return spool;
}

function deliver(spool: Spool, sink: RemoteSink, more: Partial<SinkDelivery> = {}) {
  const host = memoryHost();
  return deliverSink({
    name: 'a',
    sink,
    timeoutMs: 1000,
    spool,
    context: {
      secret: host.secret,
      run: host.run,
      certificateAuthorities: [],
      http: () => Promise.reject(new Error('not here')),
      clock: () => at(5),
    },
    host: { machineId: 'm1', bootId: 'b1' },
    untilMs: 500,
    now: () => 0,
    signal: new AbortController().signal,
    random: () => 0,
    ...more,
  });
}

describe('the delivery of events to a sink', () => {
  const [one, two] = [reported({ sequence: 1 }), reported({ sequence: 2 })];

  test('is in order, and nothing is left', async () => {
    const spool = await spoolOf(one, two);
    const { sink, ids } = answering(DELIVERED);
    const outcome = await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.1', 'run-1.2']);
    assert.deepEqual([outcome.delivered, outcome.pending], [2, 0]);
  });

  test('repeats an event under its id until it is accepted; none overtakes it', async () => {
    const spool = await spoolOf(one, two);
    const { sink, ids } = answering(RETRY, RETRY, DELIVERED);
    await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.1', 'run-1.1', 'run-1.1', 'run-1.2']);
  });

  test('ends in time: the rest waits, and the next delivery has the reason', async () => {
    const spool = await spoolOf(one, two);
    const { sink } = answering(RETRY);
    const outcome = await deliver(spool, sink, { random: () => 1 });
    assert.deepEqual([outcome.pending, outcome.state.lastError], [2, 'HTTP 503']);
  });

  test('is attempted once even if there is no time', async () => {
    const spool = await spoolOf(one);
    const { sink, ids } = answering(DELIVERED);
    await deliver(spool, { ...sink, deliver: sink.deliver }, { untilMs: 0 });
    assert.deepEqual(ids(), ['run-1.1']);
  });

  test('does not retry before the time that the receiver named', async () => {
    const spool = await spoolOf(one);
    const { sink, ids } = answering({ kind: 'retry', why: 'HTTP 429', afterMs: 60_000 });
    const outcome = await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.1']);
    assert.equal(outcome.pending, 1);
  });

  test('drops an event that is refused permanently, and continues with the next', async () => {
    const spool = await spoolOf(one, two);
    const { sink, ids } = answering({ kind: 'refused', why: 'HTTP 400' }, DELIVERED);
    const outcome = await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.1', 'run-1.2']);
    assert.deepEqual([outcome.refused, outcome.delivered, outcome.pending], [1, 1, 0]);
  });

  test('ends a sink that hangs and ignores its signal', async () => {
    const spool = await spoolOf(one);
    const sink: RemoteSink = { ...answering().sink, deliver: () => new Promise(() => {}) };
    const outcome = await deliver(spool, sink, { timeoutMs: 30, untilMs: 60, random: () => 1 });
    assert.match(outcome.state.lastError ?? '', /^no answer: it did not end within 30 ms$/);
    assert.equal(outcome.pending, 1);
  });

  test('retries after an exception of the sink', async () => {
    const spool = await spoolOf(one);
    const sink: RemoteSink = { ...answering().sink, deliver: () => Promise.reject(new Error('no route')) };
    const outcome = await deliver(spool, sink, { random: () => 1 });
    assert.deepEqual([outcome.pending, outcome.state.lastError], [1, 'no route']);
  });

  test('shortens an event to the limit of the sink', async () => {
    const warnings = Array.from({ length: 100 }, (_, index) => `${index} ${'w'.repeat(200)}`);
    const spool = await spoolOf(reported({ warnings }));
    const { sink, asked } = answering(DELIVERED);
    await deliver(spool, sink);
    assert.ok(JSON.stringify(asked[0]).length <= 4096);
    assert.deepEqual(asked[0]?.omitted, ['warnings']);
  });

  test('sends nothing of the machine of which this disk is a copy', async () => {
    const foreign = { ...one, host: { ...one.host, machineId: 'another' } };
    const spool = await spoolOf(foreign, two);
    const { sink, ids } = answering(DELIVERED);
    const outcome = await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.2']);
    assert.deepEqual([outcome.setAside, outcome.pending], [['foreign'], 0]);
  });

  test('sends no event that was damaged or waited for too long, and reports each', async () => {
    const host = memoryHost();
    const spool = new Spool(host);
    await spool.add('a', { ...one, host: { ...one.host, bootId: 'earlier' }, time: '2025-02-01T00:00:00Z' });
    await spool.add('a', two);
    await spool.add('a', reported({ sequence: 3 }));
    const [, damaged] = await spool.waiting('a');
    assert.ok(damaged !== undefined);
    await host.writeFile({ path: damaged.path, content: '{"kind":"Bootst', mode: 0o600 });
    const { sink, ids } = answering(DELIVERED);
    const outcome = await deliver(spool, sink);
    assert.deepEqual(ids(), ['run-1.3']);
    assert.deepEqual(
      [outcome.setAside, outcome.delivered, outcome.pending, outcome.state.lost],
      [['expired', 'unreadable'], 1, 0, 1],
    );
    const kept = (await host.list('/var/lib/machineadm/spool/quarantine')) ?? [];
    assert.equal(kept.length, 2);
  });

  test('ends with its signal', async () => {
    const spool = await spoolOf(one);
    const stop = new AbortController();
    stop.abort();
    const { sink, ids } = answering(DELIVERED);
    assert.equal((await deliver(spool, sink, { signal: stop.signal })).pending, 1);
    assert.deepEqual(ids(), []);
  });
});
