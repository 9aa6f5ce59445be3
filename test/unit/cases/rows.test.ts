import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CASES, caseNames } from '../../support/case-files.ts';

const README = readFileSync(join(CASES, 'README.md'), 'utf8');

/** The checklist of Cluster API's behaviour: how many rows each part of it has. */
const ROWS = { B: 12, C: 11, U: 12, E: 6, F: 16, G: 9 } as const;

/** The ids at the beginning of a folder's name or of a row of the page. */
function idsOf(text: string): string[] {
  return /^(?:[A-Z]\d+(?:-|, |(?= |$)))+/.exec(text)?.[0].match(/[A-Z]\d+/g) ?? [];
}

describe('test/cases', () => {
  test('shows every row of the checklist, or its page says where it is shown or why it is not', () => {
    const told = README.split('\n').flatMap((line) => (line.startsWith('| ') ? idsOf(line.slice(2)) : []));
    const known = new Set([...caseNames().flatMap(idsOf), ...told]);
    const rows = Object.entries(ROWS).flatMap(([part, count]) =>
      Array.from({ length: count }, (_, index) => `${part}${index + 1}`),
    );
    assert.deepEqual(
      rows.filter((row) => !known.has(row)),
      [],
    );
  });

  test('has a page that names existing cases and tests', () => {
    const cases = [...README.matchAll(/^\| [a-zA-Z -]+ \| ([A-Z]\d*-[\w-]+)/gm)].map(([, name = '']) => name);
    assert.equal(cases.length, 13, 'the thirteen faults');
    for (const name of cases) assert.ok(caseNames().includes(name), name);
    for (const [, path = ''] of README.matchAll(/`(test\/[\w./-]+\.ts)`/g))
      assert.doesNotThrow(() => readFileSync(join(CASES, '../..', path)), path);
  });
});
