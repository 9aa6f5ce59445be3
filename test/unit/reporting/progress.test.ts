import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { colorWanted, formatEvent, formatFailure, formatStatus, nextCommand } from '@machineadm/status/progress.ts';
import type { RunEvent, StepStatus } from '@machineadm/status/status.ts';
import { FAILURE, statusAfter } from './runs.ts';

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

  test('with the titles of the steps', () => {
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

  test('appear only on request', () => {
    const event = step('Failed', { durationMs: 1 });
    assert.ok(formatEvent(event, { color: true })?.includes('\u001b[31m'));
    assert.ok(!formatEvent(event)?.includes('\u001b'));
  });
});

test('the text of other programs cannot control the terminal', () => {
  assert.equal(oneLine('a\u001b[2Jb\u0007\r\nc\u009b1m'), 'ab c');
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

test('a failure names its place in the document, and the command to try next', () => {
  const failure = { ...FAILURE, field: 'host.swap', position: { file: '/etc/b.yaml', line: 7, column: 3 } };
  const lines = formatFailure(failure, undefined, nextCommand(failure, ['/etc/b.yaml', "/etc/it's"])).split('\n');
  assert.equal(lines[1], '  /etc/b.yaml:7:3  host.swap');
  const input = "-f /etc/b.yaml -f '/etc/it'\\''s'";
  assert.equal(lines.at(-1), `Try next: machineadm doctor ${input}`);
});

test('the command to try next fits the failure', () => {
  const next = (
    reason: Parameters<typeof nextCommand>[0]['reason'],
    retryable: boolean,
    command: 'provision' | 'prepare' = 'provision',
  ) => nextCommand({ reason, retryable }, ['a.yaml'], command);
  assert.equal(next('DocumentInvalid', false), 'machineadm validate -f a.yaml');
  assert.equal(next('DeadlinePassed', true), 'machineadm provision -f a.yaml');
  assert.equal(next('HookFailed', false, 'prepare'), 'machineadm plan --prepare -f a.yaml');
  assert.match(next('InternalError', false), /^machineadm bundle/);
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
  assert.match(text, /BootstrapSucceeded: False since /);
  assert.equal(text.match(/SwapEnabled/g)?.length, 1, 'the reason is told once');
  assert.equal(text.match(/Swap is on\./g)?.length, 1, 'the summary is told once');
  assert.match(text, /^ {2}warning: look$/m);
  assert.match(text, /^What to do: Set host\.swap/m);
});
