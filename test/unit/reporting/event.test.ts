import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import {
  eventLine,
  type ReportEvent,
  reportEvent,
  SIZE_CLASSES,
  sizeOf,
  truncateEvent,
} from '@machineadm/status/event.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { watchEvent } from '../../../src/reporting/watch/watch-event.ts';
import { againstContract } from '../../support/event-contract.ts';
import { at, FAILURE, statusAfter } from './runs.ts';

/** A run with much to tell: many steps with many changes, warnings, long evidence. */
function concluded(): ReportEvent {
  const status = statusAfter(
    { kind: 'planned', steps: Array.from({ length: 40 }, (_, index) => `step-${index}`) },
    { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: longFailure() } },
  );
  const large: RunStatus = {
    ...status,
    warnings: Array.from({ length: 50 }, (_, index) => `warning ${index} ${'ä'.repeat(400)}`),
    steps: status.steps.map((step) => ({ ...step, changes: Array.from({ length: 50 }, (_, n) => `${step.id}/${n}`) })),
    timeline: Array.from({ length: 400 }, (_, n) => ({ name: `entry ${n}`, sinceBootMs: n, durationMs: 1 })),
  };
  return reportEvent({ kind: 'concluded', status: large }, 7, at(9));
}

function longFailure() {
  const text = `${'x'.repeat(4000)}😀`;
  const evidence = Array.from({ length: 20 }, () => ({ source: 'journal of kubelet', text }));
  const causes = ['SwapEnabled', ...Array.from({ length: 30 }, () => 'ControlPlaneComponentNotHealthy')];
  return { ...FAILURE, summary: `Swap is on. ${'😀'.repeat(900)}`, evidence, causes };
}

describe('an event', () => {
  test('has an id of its run and its place in it, and both clocks', () => {
    const event = reportEvent({ kind: 'started', status: statusAfter() }, 3, at(5));
    assert.equal(event.id, 'run-1.3');
    assert.equal(event.time, '2026-11-20T10:00:05.000Z');
    assert.equal(event.sinceBootMs, 17_000);
    assert.equal(event.type, 'started');
  });

  test('holds steps and timeline only where it is the last', () => {
    const status = statusAfter({ kind: 'planned', steps: ['swap'] });
    const warning = reportEvent({ kind: 'warning', message: 'w', status }, 1, at(1));
    assert.deepEqual([warning.steps, warning.timeline, warning.outcome], [undefined, undefined, undefined]);
    const last = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
    const event = reportEvent({ kind: 'concluded', status: last }, 2, at(2));
    assert.deepEqual([event.outcome, event.exitCode, event.timeline?.length], ['Succeeded', 0, 1]);
  });

  test('holds no secret, whatever it is made of', () => {
    const secret = new Secret('correct horse battery');
    const status = statusAfter({ kind: 'warning', message: `it said ${secret.reveal()}` });
    const event = reportEvent({ kind: 'warning', message: `it said ${secret.reveal()}`, status }, 1, at(1));
    assert.doesNotMatch(JSON.stringify(event), /correct horse/);
  });
});

describe('an event of a step', () => {
  test('names the step and its state in lower case, if there is no other text for it', () => {
    const status = statusAfter({ kind: 'planned', steps: ['swap'] });
    for (const state of ['Pending', 'Skipped'] as const) {
      const step = { id: 'swap', state, changes: [], durationMs: 1 };
      const event = reportEvent({ kind: 'step', step, status }, 1, at(1));
      assert.deepEqual([event.type, event.step], ['stepChanged', step]);
      assert.equal(event.message, state === 'Pending' ? 'swap: pending' : 'swap: skipped');
    }
  });

  test('that waits says what for, and no other event does', () => {
    const status = statusAfter();
    const waiting = reportEvent({ kind: 'waiting', step: 'kubeadm', waitingFor: 'the API server', status }, 1, at(1));
    assert.deepEqual([waiting.type, waiting.waitingFor], ['waiting', 'the API server']);
    const probableCause = {
      ...{ reason: 'KubeletUnknownFlag', summary: 'A flag.', remedy: 'Remove it.', since: '2026-11-28T03:00:00.000Z' },
      evidence: [{ source: 'journal of kubelet', text: 'unknown flag: --x' }],
    };
    const seen = reportEvent({ kind: 'warning', message: 'in vain', status: { ...status, probableCause } }, 2, at(1));
    assert.deepEqual(seen.probableCause, probableCause);
    assert.equal('probableCause' in waiting, false);
    const started = reportEvent({ kind: 'started', status }, 1, at(1));
    assert.deepEqual(
      ['waitingFor', 'step', 'outcome', 'exitCode', 'failure', 'steps'].filter((name) => name in started),
      [],
    );
  });
});

describe('an event that is made to fit', () => {
  test('leaves out details before long parts, one after the other', () => {
    const whole = concluded();
    const events: ReportEvent[] = [whole];
    for (;;) {
      const last = events.at(-1) ?? whole;
      const smaller = truncateEvent(whole, sizeOf(last) - 1);
      if (sizeOf(smaller) >= sizeOf(last)) break;
      events.push(smaller);
    }
    const leftOut = events.map(({ omitted = [] }, index) => omitted.slice(events[index - 1]?.omitted?.length ?? 0)[0]);
    assert.deepEqual(leftOut, [
      undefined,
      'timeline',
      'steps.changes',
      'warnings',
      'steps',
      'failure.evidence',
      'conditions.message',
      // No longer shortened, but gone.
      undefined,
      undefined,
      'failure.causes',
      'message',
      undefined,
    ]);
    const after = (what: string): ReportEvent => events[leftOut.indexOf(what)] ?? assert.fail(what);
    assert.deepEqual([after('timeline').timeline, after('timeline').steps?.length], [undefined, 40]);
    assert.deepEqual(after('steps.changes').steps?.[39], { ...whole.steps?.[39], changes: [] });
    assert.deepEqual(
      after('warnings').warnings?.map((text) => [text.slice(0, 10), text.length]),
      Array.from({ length: 5 }, (_, index) => [`warning ${index} `, 200]),
    );
    assert.equal(after('steps').steps, undefined);
    assert.deepEqual(
      after('failure.evidence').failure?.evidence.map(({ source, text }) => [source, text.length]),
      Array.from({ length: 3 }, () => ['journal of kubelet', 300]),
    );
    assert.equal(after('failure.causes').failure?.causes, undefined);
    assert.ok([...(after('message').failure?.summary ?? '')].length < 300);
    const last = events.at(-1);
    assert.deepEqual([last?.warnings, last?.failure?.evidence], [undefined, []]);
  });

  test('is left as it is where it fits', () => {
    const event = concluded();
    assert.equal(truncateEvent(event, SIZE_CLASSES.full), event);
    assert.equal(truncateEvent(event, sizeOf(event)), event);
  });

  for (const bytes of [SIZE_CLASSES.large, SIZE_CLASSES.small, 2048]) {
    test(`has at most ${bytes} bytes, says what is missing, and keeps outcome, reason and identity`, () => {
      const event = truncateEvent(concluded(), bytes);
      assert.ok(sizeOf(event) <= bytes, `${sizeOf(event)} bytes`);
      assert.ok((event.omitted?.length ?? 0) > 0);
      assert.equal(event.id, 'run-1.7');
      assert.equal(event.outcome, 'Failed');
      assert.equal(event.failure?.reason, 'SwapEnabled');
      assert.equal(event.conditions[0]?.type, 'machineadm.dev/BootstrapSucceeded');
      assert.ok(JSON.stringify(event).isWellFormed(), 'no half of a surrogate pair');
    });
  }

  test('keeps the chain of causes until the evidence is gone', () => {
    assert.equal(concluded().failure?.causes?.length, 31);
    assert.equal(truncateEvent(concluded(), SIZE_CLASSES.large).failure?.causes?.length, 31);
    const small = truncateEvent(concluded(), 2048);
    assert.equal(small.failure?.causes, undefined);
    assert.ok(small.omitted?.includes('failure.causes'), small.omitted?.join());
  });

  test('loses detail before it loses text', () => {
    const event = truncateEvent(concluded(), sizeOf(concluded()) - 1);
    assert.deepEqual(event.omitted, ['timeline']);
    assert.equal(event.steps?.length, 40);
  });

  test('becomes one line that names the reason', () => {
    const line = eventLine(concluded(), 120);
    assert.ok(line.length <= 120);
    assert.match(line, /^provision of node-1 failed after .*SwapEnabled/);
    assert.match(eventLine({ ...concluded(), test: true }, 120), /^TEST /);
  });
});

describe('the published schema', () => {
  const status = statusAfter({ kind: 'planned', steps: ['swap'] });
  const step = { id: 'swap', state: 'Failed', changes: ['swap/off'], durationMs: 3 } as const;
  const { runId, agent, machine, host, document, conditions } = reportEvent({ kind: 'started', status }, 1, at(1));
  const [condition = assert.fail()] = conditions;
  const healthy = { ...condition, type: 'machineadm.dev/NodeHealthy' } as const;
  const all: readonly ReportEvent[] = [
    reportEvent({ kind: 'started', status }, 1, at(1)),
    reportEvent({ kind: 'step', step, status }, 2, at(2)),
    reportEvent({ kind: 'waiting', step: 'swap', waitingFor: 'a disk', status }, 3, at(3)),
    reportEvent({ kind: 'warning', message: 'w', status }, 4, at(4)),
    concluded(),
    { ...concluded(), test: true },
    truncateEvent(concluded(), SIZE_CLASSES.small),
    watchEvent({ runId, agent, machine, host, document }, healthy, 6, at(6)),
  ];
  for (const event of all) {
    const which = event.test === true ? 'a test event' : event.omitted === undefined ? event.type : 'a shortened event';
    test(`holds for ${which}`, () => assert.equal(againstContract(event), undefined));
  }

  test('is of every type that there is', () => {
    const types = new Set(all.map(({ type }) => type));
    assert.equal(againstContract({ ...concluded(), type: 'invented' })?.includes('type'), true);
    assert.equal(types.size, 6);
  });

  test('does not hold for an event without an id, or with a time that is none', () => {
    const { id: _, ...nameless } = concluded();
    assert.match(againstContract(nameless) ?? '', /id/);
    assert.match(againstContract({ ...concluded(), time: 'noon' }) ?? '', /time/);
  });
});
