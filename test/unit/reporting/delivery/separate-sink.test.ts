import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resultIn } from '../../../../src/reporting/delivery/separate-sink.ts';

describe('the answer of the process that sends, which a receiver may have taken over', () => {
  test('is the result of a delivery', () => {
    assert.deepEqual(resultIn('{"kind":"delivered","why":"x","more":1}'), { kind: 'delivered' });
    assert.deepEqual(resultIn('{"kind":"refused","why":"no"}'), { kind: 'refused', why: 'no' });
    assert.deepEqual(resultIn('{"kind":"retry","why":"later","afterMs":5}'), {
      kind: 'retry',
      why: 'later',
      afterMs: 5,
    });
    assert.deepEqual(resultIn('{"kind":"retry","why":"later","afterMs":-1}'), { kind: 'retry', why: 'later' });
  });

  for (const line of [
    '',
    '{',
    '[]',
    'null',
    '{"kind":"constructor"}',
    '{"kind":"refused"}',
    '{"kind":"retry","why":{}}',
  ])
    test(`is an error otherwise: ${line}`, () => {
      assert.throws(() => resultIn(line));
    });
});
