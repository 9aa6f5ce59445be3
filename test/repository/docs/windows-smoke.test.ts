import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = join(import.meta.dirname, '../../..');
const SCRIPT = readFileSync(join(ROOT, 'scripts/windows-smoke.ps1'), 'utf8');
const PAGE = readFileSync(join(ROOT, 'docs/windows.md'), 'utf8');

/** The clauses of the page, and those that the script checks or tells how to check. */
const told = [...PAGE.matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id = '']) => id);
const checked = [...SCRIPT.matchAll(/^ {2}(?:Clause|ByHand) '([A-Z]\d+)'/gm)].map(([, id = '']) => id);

describe('scripts/windows-smoke.ps1', () => {
  test('has each clause of docs/windows.md, once, and no other', () => {
    assert.ok(told.length > 30, `${told.length}`);
    assert.deepEqual([...checked].sort(), [...told].sort());
    assert.equal(new Set(checked).size, checked.length);
  });

  test('is ASCII: Windows PowerShell 5.1 reads a file without a mark in the code page of the machine', () => {
    assert.match(SCRIPT, /^[\n\x20-\x7e]+$/);
  });

  test('has balanced brackets', () => {
    // Strings and comments hold braces of their own.
    const code = SCRIPT.replace(/<#[\s\S]*?#>/g, '')
      .replace(/'(?:[^'\n]|'')*'/g, "''")
      .replace(/"(?:[^"\n`]|`.|"")*"/g, '""')
      .replace(/#.*$/gm, '');
    for (const [open, close] of ['{}', '()', '[]'].map((pair) => [...pair])) {
      const count = (wanted: string | undefined) => [...code].filter((one) => one === wanted).length;
      assert.equal(count(open), count(close), `${open} ${close}`);
    }
  });

  test('changes the machine only with the option for it', () => {
    for (const changing of ['Set-Date', 'JoinDomainOrWorkgroup', 'CreateEventSource', '& $Agent provision']) {
      const at = SCRIPT.indexOf(changing);
      assert.ok(at > 0, changing);
      const clause = SCRIPT.slice(SCRIPT.lastIndexOf('  Clause ', at), at);
      assert.match(clause, /-not \$Changes/, changing);
    }
  });
});
