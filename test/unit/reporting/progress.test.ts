import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneLine } from '@machineadm/document/printable.ts';
import { colorWanted, formatEvent, formatFailure, formatLive, formatStatus } from '../../../src/reporting/progress.ts';
import type { RunEvent, StepStatus } from '../../../src/reporting/status.ts';
import { BEGAN, FAILURE, statusAfter } from './runs.ts';

const status = statusAfter();

function step(state: StepStatus['state'], more: Partial<StepStatus> = {}): RunEvent {
  return { kind: 'step', step: { id: 'sysctl', state, changes: [], ...more }, status };
}

describe('one line for each event', () => {
  const failed = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } });
  const succeeded = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
  const cases: readonly (readonly [RunEvent, string | undefined])[] = [
    [{ kind: 'started', status }, 'provision of node-1 started'],
    [{ kind: 'started', status: { ...status, attempt: 3 } }, 'provision of node-1 started, attempt 3'],
    [step('Running'), 'sysctl: started'],
    [step('Succeeded', { changes: ['a', 'b'], durationMs: 1200 }), 'sysctl: done, 2 changes in 1.2 s'],
    [step('Succeeded', { changes: ['a'], durationMs: 12 }), 'sysctl: done, 1 change in 12 ms'],
    [step('Unchanged', { durationMs: 3 }), 'sysctl: already so'],
    [step('Failed', { durationMs: 90_000 }), 'sysctl: failed after 1 m 30 s'],
    [step('Skipped'), undefined],
    [{ kind: 'waiting', step: 'ready', waitingFor: 'the kubelet', status }, 'ready: waiting for the kubelet'],
    [{ kind: 'warning', message: 'two\nlines', status }, 'warning: two lines'],
    [{ kind: 'concluded', status: succeeded }, 'provision of node-1 succeeded in 1.0 s'],
    [{ kind: 'concluded', status: failed }, 'provision of node-1 failed after 1.0 s: SwapEnabled: Swap is on.'],
  ];
  for (const [event, line] of cases)
    test(line ?? 'nothing for a skipped step', () => assert.equal(formatEvent(event), line));

  test('with the titles that people know', () => {
    assert.equal(
      formatEvent(step('Running'), { color: false, titleOf: () => 'kernel settings' }),
      'kernel settings: started',
    );
  });
});

describe('colours', () => {
  test('are used on a terminal only, and not with NO_COLOR or a dumb terminal', () => {
    assert.equal(colorWanted(true, {}), true);
    assert.equal(colorWanted(false, {}), false);
    assert.equal(colorWanted(true, { NO_COLOR: '1' }), false);
    // no-color.org: "when present and not an empty string"
    assert.equal(colorWanted(true, { NO_COLOR: '' }), true);
    assert.equal(colorWanted(true, { TERM: 'dumb' }), false);
  });

  test('appear only where wanted', () => {
    const event = step('Failed', { durationMs: 1 });
    assert.ok(formatEvent(event, { color: true })?.includes('\u001b[31m'));
    assert.ok(!formatEvent(event)?.includes('\u001b'));
  });
});

test('text of others cannot drive the terminal', () => {
  assert.equal(oneLine('a\u001b[2Jb\u0007\r\nc\u009b1m'), 'ab c');
});

test('the live line counts steps, says what is waited for, and fits', () => {
  const running = statusAfter(
    { kind: 'planned', steps: ['sysctl', 'ready'] },
    { kind: 'stepDone', step: 'sysctl', end: { state: 'Unchanged', changes: [], durationMs: 1 } },
    { kind: 'stepStarted', step: 'ready' },
    { kind: 'waiting', step: 'ready', waitingFor: 'the Node to be registered' },
  );
  assert.equal(
    formatLive(running, BEGAN + 65_000, 80),
    '[1/2] 1 m 05 s  ready — waiting for the Node to be registered',
  );
  assert.equal(formatLive(running, BEGAN + 65_000, 20).length, 20);
});

test('a failure names reason, step, evidence and remedy', () => {
  assert.equal(
    formatFailure({ ...FAILURE, retryable: true }),
    [
      'SwapEnabled (step kubeadm): Swap is on.',
      '  journal of kubelet: running with swap on is not supported',
      'What to do: Set host.swap to Disabled. The same command may succeed later.',
    ].join('\n'),
  );
});

test('the status shows identity, steps, conditions, warnings and the failure', () => {
  const text = formatStatus(
    statusAfter(
      {
        kind: 'identified',
        subject: {
          machine: { name: 'a-1', namespace: 'clusters', cluster: 'a' },
          documentSha256: '',
          attempt: 2,
          bootstrapped: false,
        },
      },
      { kind: 'stepDone', step: 'sysctl', end: { state: 'Succeeded', changes: ['x'], durationMs: 20 } },
      { kind: 'warning', message: 'look' },
      { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } },
    ),
  );
  assert.match(text, /^clusters\/a-1 of cluster a: provision Failed \(exit 11\)$/m);
  assert.match(text, /^ {2}sysctl {2}Succeeded {2}20 ms {2}1 change$/m);
  assert.match(text, /BootstrapSucceeded: False \(SwapEnabled\)/);
  assert.match(text, /^ {2}warning: look$/m);
  assert.match(text, /^What to do: Set host\.swap/m);
});
