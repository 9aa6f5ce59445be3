import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailurePattern } from '../../../src/document/model.ts';
import { explain } from '../../../src/kubernetes/exec/failure-patterns.ts';

const pattern = (text: string): FailurePattern => ({
  pattern: text,
  reason: text,
  remedy: undefined,
  retryable: false,
});

describe('the failure patterns of a document', () => {
  test('are tried in order, each on the last lines first', () => {
    const { found, givenUp } = explain([pattern('nothing'), pattern('^b'), pattern('a')], ['a', 'b 1', 'b 2', 'a']);
    assert.deepEqual([found?.pattern.pattern, found?.line, givenUp], ['^b', 'b 2', undefined]);
    assert.deepEqual(explain([pattern('x')], ['a']), { found: undefined, givenUp: undefined });
  });

  test('are given up where they backtrack without end', () => {
    const line = `${'a'.repeat(4000)}!`;
    for (const hostile of ['(a+)+$', '(?:a|a)*$', '^(a*)*b', '(.*)*x{2}$']) {
      // Without a limit these take longer than the universe is old.
      const { found, givenUp } = explain([pattern(hostile), pattern('!')], [line], 100);
      assert.deepEqual([found, givenUp?.pattern], [undefined, hostile]);
    }
  });

  test('see the beginning of a long line only', () => {
    assert.equal(explain([pattern('end')], [`${'x'.repeat(5000)}end`]).found, undefined);
  });
});
