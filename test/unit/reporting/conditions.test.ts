import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  afterHooksCondition,
  alreadyBootstrapped,
  bootstrapCondition,
  concludingCondition,
  setCondition,
} from '@machineadm/status/conditions.ts';
import type { Condition, Outcome } from '@machineadm/status/status.ts';
import { FAILURE } from './runs.ts';

const TYPE = 'machineadm.dev/BootstrapSucceeded';
const OTHER = 'machineadm.dev/AfterBootstrapHooksSucceeded';
const TEXT = 'Swap is on. Set host.swap to Disabled.';
const PERMANENT = { ...FAILURE, retryable: false };
const TEMPORARY = { ...FAILURE, retryable: true };

describe('the condition of a bootstrap', () => {
  for (const [outcome, failure, status, reason, message] of [
    ['Succeeded', undefined, 'True', 'Succeeded', ''],
    ['Failed', PERMANENT, 'False', 'SwapEnabled', TEXT],
    ['Failed', TEMPORARY, 'Unknown', 'SwapEnabled', TEXT],
    ['Failed', undefined, 'Unknown', 'InternalError', ''],
    ['Interrupted', undefined, 'Unknown', 'Interrupted', ''],
    ['Interrupted', FAILURE, 'Unknown', 'SwapEnabled', TEXT],
    ['RebootRequired', undefined, 'Unknown', 'RebootRequired', ''],
  ] as const) {
    test(`that ${outcome}${failure === undefined ? '' : ' with a failure'} is ${status} because of ${reason}`, () => {
      assert.deepEqual(bootstrapCondition(outcome, failure), { type: TYPE, status, reason, message });
    });
  }

  test('has a message of at most 1024 characters', () => {
    const messageOf = (length: number) =>
      bootstrapCondition('Failed', { ...PERMANENT, summary: 'x'.repeat(length), remedy: 'Y.' }).message;
    assert.equal(messageOf(1020), `${'x'.repeat(1020)}. Y.`);
    assert.equal(messageOf(1021), `${'x'.repeat(1021)}. …`);
  });

  test('has its summary and its remedy as two sentences', () => {
    const { message } = bootstrapCondition('Failed', { ...PERMANENT, summary: 'the disk is full', remedy: 'Free it.' });
    assert.equal(message, 'the disk is full. Free it.');
  });
});

describe('the condition at the end of a run', () => {
  const before: Condition = {
    type: TYPE,
    status: 'True',
    reason: 'Succeeded',
    message: '',
    lastTransitionTime: '2026-11-20T10:00:00Z',
  };
  const other: Condition = { ...before, type: OTHER };
  const earlier = 'An earlier run bootstrapped this machine. A later run';
  const concluded = (command: 'provision' | 'prepare', conditions: readonly Condition[], outcome: Outcome) =>
    concludingCondition({ command, conditions }, { outcome, failure: outcome === 'Failed' ? PERMANENT : undefined });

  test('of provision is that of its bootstrap, whatever was before', () => {
    for (const conditions of [[], [other], [other, { ...before, status: 'False' } as const]])
      assert.equal(concluded('provision', conditions, 'Succeeded').status, 'True');
    assert.equal(concluded('provision', [other], 'Failed').status, 'False');
  });

  test('of prepare is no bootstrap', () => {
    assert.deepEqual(concluded('prepare', [other], 'Succeeded'), {
      type: TYPE,
      status: 'Unknown',
      reason: 'Prepared',
      message: 'The machine was prepared; it is bootstrapped by machineadm provision.',
    });
    assert.equal(concluded('prepare', [], 'Interrupted').reason, 'Interrupted');
  });

  test('stays as it is where this run bootstrapped the machine and something failed after that', () => {
    assert.equal(concluded('provision', [other, before], 'Failed'), before);
  });

  for (const [command, outcome, said] of [
    ['prepare', 'Succeeded', '(prepare) succeeded.'],
    ['provision', 'Failed', `failed: SwapEnabled: ${TEXT}`],
    ['provision', 'Interrupted', 'was interrupted'],
    ['provision', 'RebootRequired', 'needs a reboot'],
  ] as const) {
    test(`stays True where an earlier run bootstrapped the machine, and says that a later one ${said}`, () => {
      const known = { ...before, message: alreadyBootstrapped('was interrupted').message };
      assert.deepEqual(concluded(command, [known], outcome), {
        type: TYPE,
        status: 'True',
        reason: 'Succeeded',
        message: `${earlier} ${said}`,
      });
    });
  }
});

describe('the condition of the hooks after a bootstrap', () => {
  for (const [result, failure, status, reason] of [
    ['Succeeded', undefined, 'True', 'Succeeded'],
    ['Failed', undefined, 'False', 'AfterBootstrapHookFailed'],
    ['Failed', FAILURE, 'False', 'SwapEnabled'],
    ['Interrupted', undefined, 'Unknown', 'Interrupted'],
  ] as const) {
    test(`that ${result}${failure === undefined ? '' : ' with a failure'} is ${status} because of ${reason}`, () => {
      assert.deepEqual(afterHooksCondition(result, failure), {
        type: 'machineadm.dev/AfterBootstrapHooksSucceeded',
        status,
        reason,
        message: failure === undefined ? '' : TEXT,
      });
    });
  }
});

describe('a condition that is set', () => {
  const one = { type: TYPE, status: 'True', reason: 'X', message: '' } as const;
  const [t1, t2] = ['2026-11-20T10:00:00Z', '2026-11-20T11:00:00Z'];
  const first: Condition = { ...one, lastTransitionTime: t1 };
  const other: Condition = { ...first, type: OTHER };

  test('is added after the others', () => {
    assert.deepEqual(setCondition([other], one, t2), [other, { ...one, lastTransitionTime: t2 }]);
  });

  test('takes the place of the one before, with its time where the status is the same', () => {
    assert.deepEqual(setCondition([first, other], { ...one, reason: 'Y' }, t2), [{ ...first, reason: 'Y' }, other]);
    assert.deepEqual(setCondition([other, first], { ...one, status: 'False' }, t2), [
      other,
      { ...first, status: 'False', lastTransitionTime: t2 },
    ]);
  });
});
