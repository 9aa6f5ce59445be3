import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Conclusion, machineOf } from '@machineadm/status/run-state.ts';
import type { Condition, RunStatus } from '@machineadm/status/status.ts';
import { at, FAILURE, statusAfter } from './runs.ts';

function condition(
  status: RunStatus,
  type: Condition['type'] = 'machineadm.dev/BootstrapSucceeded',
): Condition | undefined {
  return status.conditions.find((other) => other.type === type);
}

function concluded(conclusion: Conclusion): RunStatus {
  return statusAfter({ kind: 'concluded', conclusion });
}

describe('the machine of a status', () => {
  const metadata = { name: 'a-0', namespace: undefined, cluster: undefined, uid: undefined, labels: {} };
  for (const more of [{}, { namespace: 'clusters' }, { cluster: 'a' }, { uid: 'u-1' }]) {
    test(`has of the document what is given: ${['name', ...Object.keys(more)].join(' and ')}`, () => {
      assert.deepEqual(machineOf({ ...metadata, ...more }), { name: 'a-0', ...more });
    });
  }

  test('is known with the digest, the attempt and how often the document is applied', () => {
    const subject = { machine: { name: 'a-0' }, documentSha256: 'd', attempt: 2, bootstrapped: false };
    const status = statusAfter({ kind: 'identified', subject });
    assert.deepEqual([status.machine, status.document.sha256, status.attempt], [{ name: 'a-0' }, 'd', 2]);
    assert.deepEqual([status.conditions.length, 'apply' in status.document], [statusAfter().conditions.length, false]);
    assert.equal(statusAfter({ kind: 'identified', subject: { ...subject, apply: 'Once' } }).document.apply, 'Once');
  });

  test('that an earlier run proved is bootstrapped since then', () => {
    const subject = { machine: { name: 'a-0' }, documentSha256: 'd', attempt: 2, bootstrapped: true };
    const since = '2026-01-01T00:00:00.000Z';
    const [proved] = statusAfter({ kind: 'identified', subject: { ...subject, bootstrappedSince: since } }).conditions;
    assert.deepEqual([proved?.status, proved?.lastTransitionTime], ['True', since]);
    const [unknown] = statusAfter({ kind: 'identified', subject }).conditions;
    assert.equal(unknown?.lastTransitionTime, '2026-11-20T10:00:01.000Z');
  });
});

describe('the condition BootstrapSucceeded', () => {
  test('is Unknown while the run continues', () => {
    const { status, reason } = condition(statusAfter({ kind: 'phase', phase: 'Host' })) ?? {};
    assert.deepEqual({ status, reason }, { status: 'Unknown', reason: 'Running' });
  });

  const cases: readonly (readonly [string, Conclusion, Condition['status'], string])[] = [
    ['True after success', { outcome: 'Succeeded', exitCode: 0 }, 'True', 'Succeeded'],
    ['False after a terminal failure', { outcome: 'Failed', exitCode: 11, failure: FAILURE }, 'False', 'SwapEnabled'],
    [
      'Unknown after a failure that may go away',
      { outcome: 'Failed', exitCode: 11, failure: { ...FAILURE, reason: 'APIEndpointTimeout', retryable: true } },
      'Unknown',
      'APIEndpointTimeout',
    ],
    ['Unknown after an interruption', { outcome: 'Interrupted', exitCode: 14 }, 'Unknown', 'Interrupted'],
    ['Unknown while a reboot is due', { outcome: 'RebootRequired', exitCode: 16 }, 'Unknown', 'RebootRequired'],
  ];
  for (const [what, conclusion, status, reason] of cases) {
    test(`is ${what}`, () => {
      const found = condition(concluded(conclusion));
      assert.deepEqual({ status: found?.status, reason: found?.reason }, { status, reason });
    });
  }

  test('keeps its transition time while its status stays', () => {
    const interrupted = concluded({ outcome: 'Interrupted', exitCode: 14 });
    assert.equal(condition(interrupted)?.lastTransitionTime, '2026-11-20T10:00:00.000Z');
    const succeeded = concluded({ outcome: 'Succeeded', exitCode: 0 });
    assert.equal(condition(succeeded)?.lastTransitionTime, '2026-11-20T10:00:01.000Z');
  });

  test('carries a message of at most 1 KiB', () => {
    const failure = { ...FAILURE, summary: 'x'.repeat(5000) };
    assert.equal(condition(concluded({ outcome: 'Failed', exitCode: 11, failure }))?.message.length, 1024);
  });
});

test('a failing afterBootstrap hook leaves the bootstrap succeeded and fails its own condition', () => {
  const failure = { ...FAILURE, reason: 'AfterBootstrapHookFailed' as const };
  const status = concluded({ outcome: 'Succeeded', exitCode: 15, afterHooks: 'Failed', failure });
  assert.equal(condition(status)?.status, 'True');
  const hooks = condition(status, 'machineadm.dev/AfterBootstrapHooksSucceeded');
  assert.equal(hooks?.status, 'False');
  assert.equal(hooks?.reason, 'AfterBootstrapHookFailed');
  assert.equal(status.outcome, 'Succeeded');
});

describe('labels that only the management side may set', () => {
  const command = 'kubectl label node n1 node-role.kubernetes.io/a=';
  const handover = { node: 'n1', labels: ['node-role.kubernetes.io/a='], taints: [], commands: [command] };
  const conditionOf = (status: RunStatus) => condition(status, 'machineadm.dev/NodeLabelsSet');

  test('are in the status and in a condition, with the command', () => {
    const status = statusAfter({ kind: 'handover', handover });
    assert.deepEqual(status.forManagement, handover);
    const found = conditionOf(status);
    assert.deepEqual([found?.status, found?.reason], ['Unknown', 'ManagementMustSet']);
    assert.equal(
      found?.message,
      `The management side must set the labels node-role.kubernetes.io/a= of the Node n1: ${command}`,
    );
  });

  test('are no longer named once they are set, and the bootstrap is a success either way', () => {
    const done = { node: 'n1', labels: [], taints: [], commands: [] };
    const conclusion = { outcome: 'Succeeded', exitCode: 0 } as const;
    const status = statusAfter(
      { kind: 'handover', handover },
      { kind: 'handover', handover: done },
      { kind: 'concluded', conclusion },
    );
    assert.equal(status.forManagement, undefined);
    assert.deepEqual([conditionOf(status)?.status, condition(status)?.status], ['True', 'True']);
    assert.equal(conditionOf(statusAfter({ kind: 'concluded', conclusion })), undefined);
  });
});

test('the addresses of the node are in the status', () => {
  const status = statusAfter({ kind: 'nodeAddresses', addresses: ['10.0.0.11', 'fd00::11'] });
  assert.deepEqual(status.host.nodeAddresses, ['10.0.0.11', 'fd00::11']);
});

describe('steps', () => {
  test('are pending when planned, and keep their order', () => {
    const status = statusAfter(
      { kind: 'planned', steps: ['sysctl', 'swap'] },
      { kind: 'stepStarted', step: 'swap' },
      { kind: 'planned', steps: ['sysctl', 'swap', 'kubeadm'] },
    );
    assert.deepEqual(
      status.steps.map((step) => `${step.id} ${step.state}`),
      ['sysctl Pending', 'swap Running', 'kubeadm Pending'],
    );
    assert.equal(status.step, 'swap');
  });

  test('end with what they changed and how long it took, and appear on the timeline where they began', () => {
    const status = statusAfter(
      { kind: 'stepStarted', step: 'sysctl' },
      { kind: 'waiting', step: 'sysctl', waitingFor: 'the kernel' },
      { kind: 'stepDone', step: 'sysctl', end: { state: 'Succeeded', changes: ['sysctl/a'], durationMs: 1500.4 } },
    );
    assert.deepEqual(status.steps, [
      {
        id: 'sysctl',
        state: 'Succeeded',
        changes: ['sysctl/a'],
        startedAt: '2026-11-20T10:00:01.000Z',
        durationMs: 1500,
      },
    ]);
    assert.deepEqual(status.timeline, [{ name: 'sysctl', sinceBootMs: 13_500, durationMs: 1500 }]);
    assert.equal(status.waitingFor, undefined);
  });

  test('that were skipped took no time', () => {
    const end = { state: 'Skipped', changes: [], durationMs: 0 } as const;
    assert.deepEqual(statusAfter({ kind: 'stepDone', step: 'kubeadm', end }).timeline, []);
  });
});

test('the identity of the machine is the host name until the document is read', () => {
  assert.equal(statusAfter().machine.name, 'node-1');
  const subject = {
    machine: { name: 'prod-a-1', cluster: 'prod-a' },
    documentSha256: 'ab',
    attempt: 2,
    bootstrapped: false,
  };
  const status = statusAfter({ kind: 'identified', subject });
  assert.deepEqual(status.machine, { name: 'prod-a-1', cluster: 'prod-a' });
  assert.deepEqual([status.document.sha256, status.attempt], ['ab', 2]);
});

test('the same warning is kept once, and a run that warns for ever keeps a hundred', () => {
  const same = statusAfter({ kind: 'warning', message: 'a' }, { kind: 'warning', message: 'a' });
  assert.deepEqual(same.warnings, ['a']);
  const many = Array.from({ length: 150 }, (_, index) => ({ kind: 'warning' as const, message: `${index}` }));
  assert.equal(statusAfter(...many).warnings.length, 100);
});

test('a transition leaves the status it came from as it was', () => {
  const before = statusAfter({ kind: 'planned', steps: ['sysctl'] });
  const copy = structuredClone(before);
  advance(before, { kind: 'stepStarted', step: 'sysctl' }, at(9));
  assert.deepEqual(before, copy);
});

describe('a run on a machine that an earlier run bootstrapped', () => {
  const subject = { machine: { name: 'a-1' }, documentSha256: 'ab', attempt: 2, bootstrapped: true };

  test('keeps the time since when the machine is bootstrapped', () => {
    const bootstrappedSince = '2026-11-19T08:00:00.000Z';
    const begun = statusAfter({ kind: 'identified', subject: { ...subject, bootstrappedSince } });
    assert.equal(condition(begun)?.lastTransitionTime, bootstrappedSince);
    for (const conclusion of [
      { outcome: 'Succeeded', exitCode: 0 },
      { outcome: 'Failed', exitCode: 10, failure: FAILURE },
    ] as const satisfies readonly Conclusion[]) {
      const ended = advance(begun, { kind: 'concluded', conclusion }, at(9));
      assert.equal(condition(ended)?.lastTransitionTime, bootstrappedSince);
    }
  });
  const after = (conclusion: Conclusion) =>
    statusAfter({ kind: 'identified', subject }, { kind: 'concluded', conclusion });

  test('says at once that the bootstrap succeeded', () => {
    const { status, message } = condition(statusAfter({ kind: 'identified', subject })) ?? {};
    assert.equal(status, 'True');
    assert.match(message ?? '', /^An earlier run bootstrapped this machine\. A later run is running\.$/);
  });

  test('that fails leaves it so, says why, and reports its own failure', () => {
    const status = after({ outcome: 'Failed', exitCode: 10, failure: FAILURE });
    assert.deepEqual([status.outcome, status.exitCode, status.failure], ['Failed', 10, FAILURE]);
    assert.equal(condition(status)?.status, 'True');
    assert.match(condition(status)?.message ?? '', /A later run failed: SwapEnabled: Swap is on\. Set host\.swap/);
  });

  test('that is interrupted leaves it so', () => {
    const status = after({ outcome: 'Interrupted', exitCode: 14, failure: { ...FAILURE, reason: 'Interrupted' } });
    assert.deepEqual([status.outcome, condition(status)?.status], ['Interrupted', 'True']);
    assert.match(condition(status)?.message ?? '', /A later run was interrupted: Interrupted: /);
  });

  test('that succeeds has nothing to add', () => {
    assert.equal(condition(after({ outcome: 'Succeeded', exitCode: 0 }))?.message, '');
  });
});

test('hooks after the bootstrap that are interrupted leave it succeeded, and are to go on', () => {
  const conclusion = {
    outcome: 'Interrupted',
    exitCode: 14,
    afterHooks: 'Interrupted',
    failure: { ...FAILURE, reason: 'Interrupted' },
  } as const;
  const status = statusAfter({ kind: 'bootstrapped' }, { kind: 'concluded', conclusion });
  assert.deepEqual([status.outcome, status.exitCode], ['Interrupted', 14]);
  assert.deepEqual([condition(status)?.status, condition(status)?.message], ['True', '']);
  assert.equal(condition(status, 'machineadm.dev/AfterBootstrapHooksSucceeded')?.status, 'Unknown');
});

test('an image that was prepared is no bootstrapped machine', () => {
  const begun = { ...statusAfter(), command: 'prepare' } as const;
  const conclusion = { outcome: 'Succeeded', exitCode: 0 } as const;
  const { status, reason } = condition(advance(begun, { kind: 'concluded', conclusion }, at(1))) ?? {};
  assert.deepEqual([status, reason], ['Unknown', 'Prepared']);
});

test('what was still to come when the run ended was skipped', () => {
  const status = statusAfter(
    { kind: 'planned', steps: ['swap', 'kubeadm'] },
    { kind: 'stepDone', step: 'swap', end: { state: 'Failed', changes: [], durationMs: 1 } },
    { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 10, failure: FAILURE } },
  );
  assert.deepEqual(
    status.steps.map((step) => `${step.id} ${step.state}`),
    ['swap Failed', 'kubeadm Skipped'],
  );
});

describe('an attempt that another follows', () => {
  const attempt = { attempt: 1, failure: { ...FAILURE, step: 'kubeadm' }, durationMs: 1234.4 };

  test('is reported with its reason, in the status and in the timeline', () => {
    const status = statusAfter({ kind: 'attemptFailed', attempt });
    assert.deepEqual(
      status.failedAttempts?.map(({ attempt: number, reason, step, durationMs }) => [number, reason, step, durationMs]),
      [[1, 'SwapEnabled', 'kubeadm', 1234]],
    );
    assert.equal(status.timeline.at(-1)?.name, 'attempt 1 failed: SwapEnabled');
    assert.equal(condition(status)?.status, 'Unknown', 'the run goes on');
  });

  test('does not hide what a step changed in it', () => {
    const status = statusAfter(
      { kind: 'stepStarted', step: 'files' },
      { kind: 'stepDone', step: 'files', end: { state: 'Succeeded', changes: ['files//a'], durationMs: 1 } },
      { kind: 'attemptFailed', attempt },
      { kind: 'stepStarted', step: 'files' },
      { kind: 'stepDone', step: 'files', end: { state: 'Unchanged', changes: [], durationMs: 1 } },
    );
    const step = status.steps.find(({ id }) => id === 'files');
    assert.deepEqual([step?.state, step?.changes], ['Succeeded', ['files//a']]);
  });
});
