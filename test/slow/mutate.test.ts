import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

describe('npm run mutate', () => {
  const mutate = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['scripts/mutate.ts', ...args], { cwd: root, encoding: 'utf8' });

  test('kills mutants, and leaves the source as it was', () => {
    // One test file imports it: more would each be run once to know what they run.
    const source = 'packages/translator/src/admission/review.ts';
    const before = readFileSync(join(root, source), 'utf8');
    const { status, stdout, stderr } = mutate(source, '--sample', '3', '--least', '0');
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^Killed +packages\/translator\/src\/admission\/review\.ts:\d+ .*\(test\/unit\/translator\//m);
    assert.equal(readFileSync(join(root, source), 'utf8'), before);
  });

  test('says so and passes where the history is not there', () => {
    const { status, stdout } = mutate('--since', 'no-such-commit');
    assert.deepEqual([status, stdout], [0, 'mutants: there is no commit no-such-commit here, so none was made\n']);
  });

  test('takes lines of a file, and judges none that the compiler refuses', () => {
    const { status, stdout } = mutate('packages/translator/src/admission/review.ts:1-2');
    assert.deepEqual([status, stdout], [0, 'mutants: 0 of 0 in 1 files; the compiler refuses 0\n']);
  });

  test('refuses a place without sources', () => {
    const { status, stderr } = mutate('src/nonesuch.ts');
    assert.deepEqual([status, stderr], [2, 'mutants: there is no source file at src/nonesuch.ts\n']);
  });
});
