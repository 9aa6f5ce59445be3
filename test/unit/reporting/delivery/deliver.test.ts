import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExecSinkModel, LocalSinkModel } from '@machineadm/document/model/index.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { type Delivery, deliverAll } from '../../../../src/reporting/delivery/deliver.ts';
import { type SinkPlan, serializePlan } from '../../../../src/reporting/spool/serialized-plan.ts';
import { Spool } from '../../../../src/reporting/spool/spool.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { reported } from '../events.ts';
import { at } from '../runs.ts';

const JOURNAL: LocalSinkModel = { kind: 'Journal' };

function planOf(name: string, over: Partial<ExecSinkModel> = {}): SinkPlan {
  const model: ExecSinkModel = {
    kind: 'Exec',
    name,
    events: ['concluded', 'warning'],
    timeoutMs: 60_000,
    command: [`/usr/bin/${name}`],
    environment: {},
    ...over,
  };
  return { model, network: { proxy: undefined, certificateAuthorities: [] }, local: [JOURNAL] };
}

/** A spool with these sinks, and programs in their places that answer with a status each, or note what they are given. */
async function machine(
  sinks: Readonly<
    Record<
      string,
      { readonly status: number; readonly plan?: Partial<ExecSinkModel>; readonly waits?: readonly ReportEvent[] }
    >
  >,
) {
  const taken: Record<string, ReportEvent[]> = {};
  const told: string[] = [];
  const disk = memoryHost();
  const spool = new Spool(disk);
  for (const [name, { plan, waits = [reported({ sequence: 1, type: 'concluded' })] }] of Object.entries(sinks)) {
    taken[name] = [];
    await spool.putPlan(name, serializePlan(planOf(name, plan)).text);
    for (const event of waits) await spool.add(name, event);
  }
  const host = memoryHost({
    programs: Object.fromEntries(
      Object.entries(sinks).map(([name, { status }]) => [
        `/usr/bin/${name}`,
        ({ input }) => {
          taken[name]?.push(JSON.parse(String(input)));
          return { status, stderr: status === 0 ? '' : 'not today' };
        },
      ]),
    ),
  });
  const deliver = async (over: Partial<Delivery> = {}) => {
    const { reports, due } = await deliverAll({
      spool,
      hostFor: () => host,
      machine: { machineId: 'm1', bootId: 'b1' },
      withinMs: 0,
      signal: new AbortController().signal,
      tellLocal: async (local, message) => {
        assert.deepEqual(local, [JOURNAL]);
        told.push(message);
      },
      clock: () => at(5),
      ...over,
    });
    return { due, reports: reports.toSorted((one, other) => one.sink.localeCompare(other.sink)) };
  };
  return { disk, spool, deliver, taken, told };
}

describe('delivering to all sinks', () => {
  test('gives each the events that wait for it, and reports that they were delivered', async () => {
    const { deliver, taken, told } = await machine({ a: { status: 0 }, b: { status: 0 } });
    const { reports, due } = await deliver();
    assert.deepEqual(
      reports.map(({ sink, type, target, state, pending, message }) => ({
        sink,
        type,
        target,
        state,
        pending,
        message,
      })),
      ['a', 'b'].map((sink) => ({
        sink,
        type: 'Exec',
        target: `/usr/bin/${sink}`,
        state: 'Delivered',
        pending: 0,
        message: undefined,
      })),
    );
    assert.deepEqual([due.size, told, taken.a?.length, taken.b?.length], [0, [], 1, 1]);
  });

  test('serves the requested sinks, and leaves the others', async () => {
    const { deliver, spool } = await machine({ a: { status: 0 }, b: { status: 0 } });
    const { reports } = await deliver({ only: new Set(['b']) });
    assert.deepEqual(
      reports.map(({ sink }) => sink),
      ['b'],
    );
    assert.equal((await spool.waiting('a')).length, 1);
  });

  test('reports a failing sink locally and through the sinks that take warnings, once', async () => {
    const { deliver, taken, told } = await machine({
      bad: { status: 75 },
      good: { status: 0 },
      deaf: { status: 0, plan: { events: ['concluded'] } },
    });
    const first = await deliver();
    const bad = first.reports.find(({ sink }) => sink === 'bad');
    assert.deepEqual([bad?.state, bad?.pending, bad?.message], ['Pending', 1, 'status 75: not today']);
    assert.equal(typeof first.due.get('bad'), 'number');
    const trouble = 'sink bad (/usr/bin/bad) did not accept one event, which will be retried: status 75: not today';
    assert.deepEqual(told, [trouble]);
    const warning = taken.good?.at(-1);
    assert.deepEqual(
      [warning?.id, warning?.type, warning?.message, warning?.outcome],
      ['run-1.1.sink.bad', 'warning', `warning: ${trouble}`, undefined],
    );
    assert.deepEqual(
      taken.deaf?.map(({ type }) => type),
      ['concluded'],
    );
    await deliver();
    assert.deepEqual(told, [trouble], 'it is told once');
    assert.equal(taken.good?.length, 2);
  });

  test('does not report a past error if nothing waits any more', async () => {
    const { deliver, spool, told } = await machine({ a: { status: 0, waits: [] }, other: { status: 0 } });
    await spool.putState('a', { failures: 3, refused: 0, lost: 0, told: false, lastError: 'status 75' });
    const [report] = (await deliver()).reports;
    assert.deepEqual([report?.state, report?.pending, report && 'message' in report], ['Delivered', 0, false]);
    assert.deepEqual(told, []);
  });

  for (const [what, state, message, change] of [
    ['lost', 'Lost', 'lost, because the queue was full or they waited too long: one event', { lost: 1 }],
    [
      'perhaps lost, as the count was damaged',
      'Unreadable',
      'what was counted before was damaged: more may have been lost',
      { unreadable: true },
    ],
  ] as const) {
    test(`an event that was ${what} is reported`, async () => {
      const { deliver, spool, told } = await machine({ a: { status: 0 } });
      await spool.putState('a', { failures: 0, refused: 0, lost: 0, told: false, ...change });
      const [report] = (await deliver()).reports;
      assert.deepEqual([report?.state, report?.pending, report?.message, told], [state, 0, message, []]);
    });
  }

  test('an event that is damaged, and events of another machine, are reported and not sent', async () => {
    const damaged = await machine({ a: { status: 0 } });
    const [event] = await damaged.spool.waiting('a');
    assert.ok(event !== undefined);
    damaged.disk.put(event.path, 'nonsense');
    const [unreadable] = (await damaged.deliver()).reports;
    assert.deepEqual(
      [unreadable?.state, unreadable?.message, damaged.taken.a],
      ['Unreadable', 'damaged and kept in quarantine: one event', []],
    );
    const waits = [1, 2].map((sequence) => reported({ sequence }));
    const copied = await machine({ a: { status: 0, waits } });
    const [foreign] = (await copied.deliver({ machine: { machineId: 'copy', bootId: 'b1' } })).reports;
    assert.deepEqual(
      [foreign?.state, foreign?.message, copied.taken.a],
      ['Lost', 'of the machine that this disk was copied from: 2 events', []],
    );
  });

  test('reports a sink that cannot be created, and the others get the events that wait for them', async () => {
    const { deliver, taken, told } = await machine({
      a: { status: 0, plan: { kind: 'Webhook' as 'Exec' } },
      b: { status: 0 },
    });
    const { reports } = await deliver();
    assert.deepEqual(
      reports.map(({ state, pending }) => [state, pending]),
      [
        ['Pending', 1],
        ['Delivered', 0],
      ],
    );
    assert.equal(taken.b?.length, 2, 'its own event, and the warning about the other');
    assert.match(told[0] ?? '', /^sink a \(Webhook\) did not accept one event/);
  });

  test('creates a warning about a sink in the same run, with the current time, and without the data of the run', async () => {
    const { deliver, taken } = await machine({ bad: { status: 75 }, good: { status: 0 } });
    await deliver();
    const { steps: _s, timeline: _t, ...envelope } = reported({ sequence: 1, type: 'concluded' });
    assert.deepEqual(taken.good?.at(-1), {
      ...envelope,
      id: 'run-1.1.sink.bad',
      type: 'warning',
      time: '2026-11-20T10:00:05.000Z',
      sinceBootMs: 17_000,
      message: 'warning: sink bad (/usr/bin/bad) did not accept one event, which will be retried: status 75: not today',
    });
  });

  test('reports how many events were refused permanently', async () => {
    const waits = [1, 2].map((sequence) => reported({ sequence, type: 'concluded' }));
    const { deliver, told } = await machine({ bad: { status: 1, waits } });
    const [report] = (await deliver()).reports;
    assert.deepEqual([report?.state, report?.pending, report?.message], ['Refused', 0, 'status 1: not today']);
    assert.deepEqual(told, ['sink bad (/usr/bin/bad) refused 2 events permanently: status 1: not today']);
  });

  test('reports events whose sink is no longer known, of the requested sinks', async () => {
    const { deliver, spool } = await machine({ a: { status: 0 } });
    await spool.add('lost', reported({ sequence: 1 }));
    const { reports } = await deliver();
    const lost = reports.find(({ sink }) => sink === 'lost');
    assert.deepEqual([lost?.type, lost?.state, lost?.pending, lost?.target], ['Unknown', 'Unreadable', 1, '']);
    assert.match(lost?.message ?? '', /report flush -f FILE/);
    const asked = await deliver({ only: new Set(['a']) });
    assert.deepEqual(
      asked.reports.map(({ sink }) => sink),
      ['a'],
    );
  });

  test('takes a sink of the document in place of the one of the spool, where something waits for it', async () => {
    const { deliver, taken } = await machine({ a: { status: 1 }, b: { status: 0 } });
    const moved = planOf('a', { command: ['/usr/bin/b'] });
    const { reports } = await deliver({ plans: [moved, planOf('idle')] });
    assert.deepEqual(
      reports.map(({ sink, target, state }) => [sink, target, state]),
      [
        ['a', '/usr/bin/b', 'Delivered'],
        ['b', '/usr/bin/b', 'Delivered'],
      ],
    );
    assert.deepEqual([taken.a?.length, taken.b?.length], [0, 2]);
  });
});
