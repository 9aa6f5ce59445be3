import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../../..');
const LINES = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8').split('\n');
const HEADING = '| Program | Attacker | Promise | Tested by |';

/** The tests that a line names: whole paths, and names of files in the directory of the path before them. */
function testsNamed(line: string): readonly string[] {
  let directory = 'test';
  return [...line.matchAll(/`([\w./-]+)`/g)].flatMap(([, name = '']) => {
    if (/^test\//.test(name)) {
      directory = name.endsWith('.ts') ? dirname(name) : name;
      return [name];
    }
    return name.endsWith('.test.ts') ? [join(directory, name)] : [];
  });
}

/** Names of tests: `file.test.ts`, "name of a test". */
function titlesNamed(line: string): readonly (readonly [file: string, title: string])[] {
  return [...line.matchAll(/`([\w./-]+\.test\.ts)`,((?: "[^"]+",?)+)/g)].flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
  );
}

describe('SECURITY.md', () => {
  test('names only tests that exist', () => {
    const named = LINES.flatMap(testsNamed);
    assert.ok(named.length > 20, `${named.length} tests are named`);
    // A name without its directory in running text is that of one file somewhere.
    const missing = named.filter(
      (path) =>
        !existsSync(join(ROOT, path)) &&
        globSync(`**/${path.replace(/^test\//, '')}`, { cwd: join(ROOT, 'test') }).length !== 1,
    );
    assert.deepEqual(missing, []);
  });

  test('names titles of tests that the files have', () => {
    const titles = LINES.flatMap(titlesNamed);
    assert.ok(titles.length > 1);
    const missing = titles.filter(([file, title]) => {
      const [path] = globSync(`**/${file.replace(/^test\//, '')}`, { cwd: join(ROOT, 'test') });
      return path === undefined || !readFileSync(join(ROOT, 'test', path), 'utf8').includes(title);
    });
    assert.deepEqual(missing, []);
  });

  test('has a tested promise for each program', () => {
    const start = LINES.indexOf(HEADING);
    assert.notEqual(start, -1);
    const rows = LINES.slice(start + 2);
    const table = rows.slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    );
    assert.ok(table.length >= 7);
    for (const row of table) {
      assert.equal(row.split('|').length, 6, row);
      assert.ok(testsNamed(row).length > 0, `no test: ${row}`);
    }
  });
});
