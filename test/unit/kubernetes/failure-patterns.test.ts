import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailurePattern } from '@machineadm/document/model/index.ts';
import { explain } from '../../../src/kubernetes/exec/failure-patterns.ts';
import { attack } from '../../support/attacks.ts';

const pattern = (text: string): FailurePattern => ({
  pattern: text,
  reason: text,
  remedy: undefined,
  retryable: false,
});

describe('the failure patterns of a document', () => {
  test('are tried in order, each on the last lines first', async () => {
    const found = await explain([pattern('nothing'), pattern('^b'), pattern('a')], ['a', 'b 1', 'b 2', 'a']);
    assert.deepEqual([found?.pattern.pattern, found?.line], ['^b', 'b 2']);
    assert.equal(await explain([pattern('x')], ['a']), undefined);
  });

  test(
    'do not backtrack',
    attack('Hostile texts', 'a failure pattern of a document that backtracks forever', async () => {
      const line = `${'a'.repeat(4000)}!`;
      // With an engine that backtracks, each of these takes longer than the universe is old.
      const hostile = [
        '(a+)+$',
        '^(?:a|a)*$',
        '^(a*)*b',
        '(.*)*x{2}$',
        '^(a|aa)+$',
        '(?:a?){50}a{50}$',
        '^(([a-z])+.)+b',
      ];
      for (const text of hostile) {
        assert.equal((await explain([pattern(text), pattern('!')], [line]))?.pattern.pattern, '!');
      }
      return hostile.length;
    }),
  );

  test('see the beginning of a long line only', async () => {
    assert.equal(await explain([pattern('end')], [`${'x'.repeat(5000)}end`]), undefined);
  });

  test('see the end of a long output only', async () => {
    const lines = ['early', ...Array.from({ length: 3_000 }, () => 'x'.repeat(100)), 'late'];
    assert.equal((await explain([pattern('early'), pattern('late')], lines))?.line, 'late');
    assert.equal((await explain([pattern('early')], lines.slice(0, 2_000)))?.line, 'early');
  });
});
