import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { afterHooksCondition, bootstrapCondition } from '@machineadm/status/conditions.ts';
import type { Failure } from '@machineadm/status/status.ts';
import { conditionsToApply, REPORTED_TYPES, reportedConditions } from '@machineadm/translator/reports/conditions.ts';
import { Ajv } from 'ajv';
import { CONDITIONS } from '../../support/capi-definitions.ts';

const GOOD = { type: REPORTED_TYPES[0], status: 'False', reason: 'SwapEnabled', message: 'Swap is on.' } as const;
const NOW = new Date('2026-11-23T01:02:03.456Z');

describe('reportedConditions', () => {
  const of = (...entries: readonly unknown[]) => reportedConditions({ 'conditions.json': JSON.stringify(entries) });

  test('takes the conditions of a bootstrap and of a watch, each type once', () => {
    const healthy = { ...GOOD, type: REPORTED_TYPES[2], status: 'Unknown' };
    const data = {
      'conditions.json': JSON.stringify([GOOD]),
      'watch-conditions.json': JSON.stringify([healthy, { ...GOOD, status: 'True' }]),
      'other.json': JSON.stringify([{ ...GOOD, type: REPORTED_TYPES[1] }]),
    };
    assert.deepEqual(reportedConditions(data), [GOOD, healthy]);
  });

  for (const [what, entry] of [
    ['a type that is not a machine’s', { ...GOOD, type: 'InfrastructureReady' }],
    ['a status that is none', { ...GOOD, status: 'Maybe' }],
    ['a reason with blanks', { ...GOOD, reason: 'not a reason' }],
    ['a reason of 257 characters', { ...GOOD, reason: 'x'.repeat(257) }],
    ['no reason', { ...GOOD, reason: undefined }],
    ['text', 'words'],
    ['null', null],
  ] as const) {
    test(`leaves out an entry with ${what}`, () => assert.deepEqual(of(entry), []));
  }

  test('shortens messages, fills in empty ones, and drops other fields', () => {
    const [long] = of({ ...GOOD, message: 'y'.repeat(100_000), lastTransitionTime: '1970-01-01T00:00:00Z', extra: 1 });
    assert.deepEqual(long, { ...GOOD, message: 'y'.repeat(1024) });
    for (const message of ['', undefined, 7]) assert.equal(of({ ...GOOD, message })[0]?.message, GOOD.reason);
  });

  test('is empty for what is no list of conditions', () => {
    for (const text of ['', 'no JSON', '{"type": "Ready"}', 'null']) {
      assert.deepEqual(reportedConditions({ 'conditions.json': text }), []);
    }
    for (const data of [undefined, null, {}]) assert.deepEqual(reportedConditions(data), []);
  });
});

describe('conditionsToApply', () => {
  const before = { ...GOOD, lastTransitionTime: '2026-11-22T00:00:00Z' };

  test('is nothing where the object has them', () => {
    assert.equal(conditionsToApply([GOOD], [before], NOW), undefined);
    assert.equal(conditionsToApply([], [before], NOW), undefined);
  });

  test('moves the time with the status only', () => {
    const other = { ...GOOD, reason: 'AnotherReason' };
    assert.deepEqual(conditionsToApply([other], [before], NOW), [
      { ...other, lastTransitionTime: before.lastTransitionTime },
    ]);
    const changed = { ...GOOD, status: 'True' } as const;
    assert.deepEqual(conditionsToApply([changed], [before], NOW), [
      { ...changed, lastTransitionTime: '2026-11-23T01:02:03Z' },
    ]);
    assert.deepEqual(conditionsToApply([GOOD], [], NOW), [{ ...GOOD, lastTransitionTime: '2026-11-23T01:02:03Z' }]);
  });
});

describe('conditions of a run, on the Machine', () => {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  const isValid = new Ajv({ strict: false, formats: { 'date-time': time, int64: true } }).compile(CONDITIONS);
  const failure = (retryable: Failure['retryable']): Failure => ({
    reason: 'SwapEnabled',
    summary: 'Swap is on.',
    remedy: 'y'.repeat(5000),
    evidence: [],
    step: 'swap',
    retryable,
  });

  test('follow the definitions of v1beta2, and are False only where the machine will not recover by itself', () => {
    for (const [expected, reported] of [
      ['True', bootstrapCondition('Succeeded', undefined)],
      ['False', bootstrapCondition('Failed', failure(false))],
      ['Unknown', bootstrapCondition('Failed', failure(true))],
      ['Unknown', bootstrapCondition('Interrupted', failure(false))],
      ['Unknown', bootstrapCondition('RebootRequired', undefined)],
      ['False', afterHooksCondition('Failed', failure(true))],
      ['Unknown', afterHooksCondition('Interrupted', undefined)],
    ] as const) {
      const applied = conditionsToApply(reportedConditions({ 'conditions.json': JSON.stringify([reported]) }), [], NOW);
      assert.deepEqual(
        applied?.map(({ type, status, reason }) => [type, status, reason]),
        [[reported.type, expected, reported.reason]],
      );
      assert.ok(isValid(applied), JSON.stringify(isValid.errors));
    }
  });
});
