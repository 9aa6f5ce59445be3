import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { textDiff } from '../../../src/steps/text-diff.ts';

const numbers = (count: number): string => Array.from({ length: count }, (_, index) => `${index}\n`).join('');

describe('text diff', () => {
  test('shows what goes and what comes, with two lines around it', () => {
    const before = numbers(9);
    assert.equal(
      textDiff(before, before.replace('4\n', 'four\n')),
      ['…', ' 2', ' 3', '-4', '+four', ' 5', ' 6', '…'].join('\n'),
    );
  });

  test('of a new file is all of it', () => {
    assert.equal(textDiff('', 'a\nb\n'), '+a\n+b');
  });

  test('tells a missing newline at the end', () => {
    assert.match(textDiff('a\n', 'a') ?? '', /no newline at the end/);
  });

  test('is not made of long or binary texts', () => {
    assert.equal(textDiff('', numbers(500)), undefined);
    assert.equal(textDiff('', 'a\0b'), undefined);
  });

  test('is empty exactly when nothing changes', async () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c')).map((lines) => lines.map((line) => `${line}\n`).join(''));
    await fc.assert(
      fc.property(text, text, (before, after) => (textDiff(before, after) === '') === (before === after)),
    );
  });
});
