import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { commandsIn, ShellScanner } from '@machineadm/convert/shell/scanner.ts';

const TEXTS = [
  '\n',
  'if a; then\n',
  '"',
  "'",
  '${',
  '#',
  '<<a ',
  '(',
  'a&&',
  'case x in\n',
  '$(',
  '\\',
  '`',
  'f() {\n',
  '{ ',
  '<',
  'a|b',
  '<<-x\n\t',
];

describe('the work for a text of a shell', () => {
  for (const text of TEXTS) {
    test(`of ${JSON.stringify(text)} grows with its length only`, () => {
      const work = (times: number): number => {
        const scanner = new ShellScanner();
        scanner.feed(text.repeat(times));
        scanner.end();
        return scanner.steps;
      };
      const once = work(1000);
      assert.ok(once <= 2 * text.length * 1000 + 10, String(once));
      assert.ok(work(4000) <= 4 * once + 100);
    });
    test(`of many lines of ${JSON.stringify(text)} is that of the lines`, () => {
      const scanner = new ShellScanner();
      for (let line = 0; line < 1000; line++) {
        scanner.feed(text);
        assert.equal(typeof scanner.isOpen, 'boolean');
      }
      assert.ok(scanner.steps <= 3 * (text.length + 1) * 1000, String(scanner.steps));
    });
  }
});

test('commands, their words, and what stands around them', () => {
  const found = commandsIn('A=1 sudo x "a b" >f 2>&1 && y $z; if c; then d | e; fi # f');
  assert.deepEqual(
    found.map(({ words, redirections, before, after, depth }) => [
      words.map(({ text }) => text),
      redirections.length,
      before,
      after,
      depth,
    ]),
    [
      [['A=1', 'sudo', 'x', 'a b'], 2, '', '&&', 0],
      [['y', '$z'], 0, '&&', ';', 0],
      [['c'], 0, 'if', ';', 1],
      [['d'], 0, 'then', '|', 1],
      [['e'], 0, '|', ';', 1],
    ],
  );
});
