import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JOIN_FAILURES, joinFailure } from '../../../../src/features/active-directory/failures.ts';

const failed = (stderr: string, timedOut = false) =>
  joinFailure('adcli join', { status: 3, stdout: '', stderr, timedOut });

describe('the causes of a join that fails', () => {
  for (const { reason, example, pattern } of JOIN_FAILURES) {
    test(`${reason} is recognised in "${example}"`, () => {
      const error = failed(`! noise\n${example}\n`);
      assert.deepEqual([error.reason, error.exit], [reason, 'HostStepFailed']);
      assert.deepEqual(
        error.evidence.map(({ text }) => text),
        [example],
      );
      assert.equal(
        JOIN_FAILURES.find((entry) => entry.pattern.test(example))?.pattern,
        pattern,
        'the first that matches',
      );
    });
  }

  test('credentials that were refused are not worth another attempt: the account would be locked', () => {
    for (const { reason, retryable } of JOIN_FAILURES) {
      if (/Credentials|Account|Password/.test(reason)) assert.equal(retryable, undefined, reason);
    }
  });

  test('a tool that was killed at its deadline is DomainJoinTimedOut, whatever it printed', () => {
    const error = failed('Preauthentication failed', true);
    assert.deepEqual([error.reason, error.retryable], ['DomainJoinTimedOut', true]);
  });

  test('any other text is DomainJoinFailed, with its last lines', () => {
    const error = failed('one\ntwo\nthree\nfour\n');
    assert.equal(error.reason, 'DomainJoinFailed');
    assert.deepEqual(
      error.evidence.map(({ text }) => text),
      ['two', 'three', 'four'],
    );
  });
});
