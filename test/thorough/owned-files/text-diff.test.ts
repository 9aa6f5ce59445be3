import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applyPatch } from 'diff';
import { textDiff } from '../../../src/owned-files/text-diff.ts';
import fc from '../../support/property.ts';

const numbers = (count: number, end = '\n'): string =>
  Array.from({ length: count }, (_, index) => `${index}${end}`).join('');

/** The lines that go or come. */
const edits = (diff: string): string[] => diff.split('\n').filter((line) => /^[-+]/.test(line));

describe('text diff', () => {
  test('shows what goes and what comes, with three lines around it and where it is', () => {
    const before = numbers(12);
    assert.equal(
      textDiff(before, before.replace('\n5\n', '\nfive\n')),
      ['@@ -3,7 +3,7 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'].join('\n'),
    );
  });

  test('of a new file is all of it', () => {
    assert.equal(textDiff('', 'a\nb\n'), '@@ -0,0 +1,2 @@\n+a\n+b');
  });

  test('tells a missing newline at the end', () => {
    assert.match(textDiff('a\n', 'a'), /No newline at end of file/);
  });

  test('is whole for a text of any length', () => {
    assert.deepEqual(
      edits(textDiff('', numbers(5000))),
      numbers(5000, ' ')
        .trim()
        .split(' ')
        .map((line) => `+${line}`),
    );
    assert.deepEqual(edits(textDiff(numbers(5000), numbers(5000).replace('4321\n', 'x\n'))), ['-4321', '+x']);
  });

  test('of texts that have little in common has every line of both', () => {
    const lines = edits(textDiff(numbers(1500), numbers(1500, 'x\n')));
    assert.equal(lines.filter((line) => line.startsWith('-')).length, 1500);
    assert.equal(lines.filter((line) => line.startsWith('+')).length, 1500);
  });

  test('of a binary file says that it is one', () => {
    assert.equal(textDiff('', 'a\0b'), 'Binary contents differ');
  });

  test('makes the one text of the other, and is empty exactly when nothing changes', async () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c')).map((lines) => lines.map((line) => `${line}\n`).join(''));
    await fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = textDiff(before, after);
        assert.equal(diff === '', before === after);
        assert.equal(diff === '' ? before : applyPatch(before, `${diff}\n`), after);
      }),
    );
  });
});
