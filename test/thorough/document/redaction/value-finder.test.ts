import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ValueFinder } from '@machineadm/document/redaction/value-finder.ts';
import fc from '../../../support/property.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/** Which bytes of a text lie in an occurrence. */
function covered(values: readonly string[], text: string, most = Number.POSITIVE_INFINITY): string | undefined {
  const marks = [...text].map(() => '.');
  let compared = 0;
  const found = (start: number, end: number): void => void marks.fill('#', start, end);
  const isWhole = new ValueFinder(values.map(bytes)).scan(bytes(text), found, (count) => {
    compared += count;
    return compared <= most;
  });
  return isWhole ? marks.join('') : undefined;
}

function coveredSlowly(values: readonly string[], text: string): string {
  const marks = [...text].map(() => '.');
  for (const value of values.filter(({ length }) => length >= 6)) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1))
      marks.fill('#', at, at + value.length);
  }
  return marks.join('');
}

describe('values in a text', () => {
  const table: readonly (readonly [string, readonly string[], string, string])[] = [
    [
      'at its beginning, in the middle and at its end',
      ['secret'],
      'secret a secret secre secret',
      '######...######.......######',
    ],
    ['that overlap', ['abcdefgh', 'efghijkl'], 'xabcdefghijklx', '.############.'],
    ['one in another', ['abcdefghijkl', 'defghi'], 'abcdefghijkl defghi', '############.######'],
    ['that overlap themselves', ['ababab'], 'abababababx', '##########.'],
    ['not what only begins like them', ['correct-horse'], 'correct-house correct-hors', '..........................'],
    ['not what is too short to be looked for', ['short'], 'short', '.....'],
    [
      'that differ at their end only',
      ['same begin 1', 'same begin 2'],
      'same begin 2 same begin 3',
      '############.............',
    ],
  ];
  for (const [name, values, text, marks] of table) test(name, () => assert.equal(covered(values, text), marks));

  test('are those that a slow search finds', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 0, maxLength: 60 });
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 8 }), letters, fc.array(fc.nat(7)), (values, between, order) => {
        const text = order.map((index) => values[index] ?? between).join(between);
        const [marks = '', expected] = [covered(values, text), coveredSlowly(values, text)];
        for (const [at, mark] of [...expected].entries())
          if (mark === '#') assert.equal(marks[at], '#', `${marks} at ${at}`);
        // More only where an occurrence is continued by what could be the end of another one.
        assert.equal(marks.includes('#'), expected.includes('#'));
      }),
      { numRuns: 500 },
    );
  });

  test('cost no more to compare where all begin and end with the same words', () => {
    const values = Array.from({ length: 500 }, (_, index) => `-----BEGIN KEY-----\n${index ** 5}-----END KEY-----\n`);
    const text = '-----BEGIN KEY-----\n other \n-----END KEY-----\n'.repeat(100);
    assert.equal(covered(values, text, 50 * text.length), '.'.repeat(text.length));
  });

  test('end the search where comparing them takes too long', () => {
    const text = `${'a'.repeat(3000)}b`.repeat(3);
    assert.equal(covered(['a'.repeat(4000)], text, 1000), undefined);
  });
});
