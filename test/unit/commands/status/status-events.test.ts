import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatStatus } from '@machineadm/status/progress.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { eventsBetween } from '@machineadm/status/status-events.ts';
import { formatTimeline } from '@machineadm/status/timeline-chart.ts';
import { withRunningStep } from '../../../../src/commands/timeline/run.ts';
import { statusAfter } from '../../reporting/runs.ts';

const STARTED = '2026-01-02T03:04:05.000Z';

function status(more: Partial<RunStatus>): RunStatus {
  const { failure: _failure, outcome: _outcome, exitCode: _exitCode, ...base } = statusAfter();
  return { ...base, phase: 'Host', steps: [], warnings: [], timeline: [], ...more };
}

test('the events between two statuses are those that the run itself reported', () => {
  const running = { id: 'files', state: 'Running', changes: [], startedAt: STARTED } as const;
  const first = status({ steps: [running], step: 'files', waitingFor: 'a mirror' });
  assert.deepEqual(
    eventsBetween(undefined, first).map(({ kind }) => kind),
    ['started', 'step', 'waiting'],
  );
  assert.deepEqual(eventsBetween(first, first), []);
  const last = status({ phase: 'Concluded', steps: [{ ...running, state: 'Succeeded' }], warnings: ['careful'] });
  assert.deepEqual(
    eventsBetween(first, last).map(({ kind }) => kind),
    ['step', 'warning', 'concluded'],
  );
  const another = status({ runId: 'another' });
  assert.deepEqual(
    eventsBetween(last, another).map(({ kind }) => kind),
    ['started'],
  );
});

test('the timeline has the step that runs now, and is as wide as its terminal', () => {
  const steps = [{ id: 'kubeadm', state: 'Running', changes: [], startedAt: STARTED } as const];
  const before = [{ name: 'kernel', sinceBootMs: 0, durationMs: 4000 }];
  const timeline = withRunningStep(status({ steps, timeline: before }), Date.parse(STARTED) + 9000);
  assert.deepEqual(timeline, [...before, { name: 'kubeadm', sinceBootMs: 4000, durationMs: 9000 }]);
  assert.deepEqual(withRunningStep(status({ phase: 'Concluded', steps, timeline: before }), 0), before);
  for (const columns of [60, 80, 100]) {
    const widths = formatTimeline({ timeline }, { columns })
      .split('\n')
      .map((line) => line.length);
    assert.ok(Math.max(...widths) <= columns && Math.max(...widths) > columns - 20, `${widths} of ${columns}`);
  }
});

test('a failure after the bootstrap is explained beside the condition that says it succeeded', () => {
  const failure = { reason: 'HookFailed', summary: 'no', evidence: [], remedy: 'Fix it.', retryable: false } as const;
  const base = { reason: 'x', message: '', lastTransitionTime: STARTED };
  const condition = (value: 'True' | 'Unknown') =>
    [{ ...base, type: 'machineadm.dev/BootstrapSucceeded', status: value }] as const;
  assert.match(
    formatStatus(status({ failure, conditions: condition('True') })),
    /came after that, and does not undo it/,
  );
  assert.doesNotMatch(formatStatus(status({ failure, conditions: condition('Unknown') })), /came after that/);
});
