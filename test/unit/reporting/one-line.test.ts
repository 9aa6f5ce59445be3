import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { consoleLine } from '../../../src/reporting/sinks/console.ts';

const ESC = '\u001b';

describe('a line of a child', () => {
  for (const [what, text, shown] of [
    ['colours', `${ESC}[1;31mred${ESC}[0m`, 'red'],
    ['a cleared screen', `a${ESC}[2J${ESC}[Hb`, 'ab'],
    ['a title of the window', `a${ESC}]0;owned\u0007b`, 'ab'],
    ['a title that ends with ST', `a${ESC}]2;owned${ESC}\\b`, 'ab'],
    ['a clipboard', `a${ESC}]52;c;ZXZpbA==\u0007b`, 'ab'],
    ['a device control string', `a${ESC}P$q"p${ESC}\\b`, 'ab'],
    ['a string that does not end', `a${ESC}]0;owned`, 'a'],
    ['a request for an answer', `a${ESC}[6n${ESC}[cb`, 'ab'],
    ['a reset of the terminal', `a${ESC}cb`, 'ab'],
    ['another character set', `a${ESC}(0b`, 'ab'],
    ['controls of eight bits', 'a\u009b31mb', 'ab'],
    ['a return and backspaces', 'good\rbad\b\b\b', 'good bad'],
    ['a text that reads backwards', 'a\u202eb\u2066c\u2069', 'abc'],
    ['an escape alone', `a${ESC}`, 'a'],
    ['a bell and a zero', 'a\u0007\u0000b', 'ab'],
  ] as const) {
    test(`shows nothing of ${what}`, () => {
      assert.equal(oneLine(text), shown);
      assert.equal(consoleLine(text), `machineadm: ${shown}`);
    });
  }

  test('keeps other languages', () => assert.equal(oneLine('Größe 大小 🔑'), 'Größe 大小 🔑'));
});
