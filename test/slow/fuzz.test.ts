import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';

import { defectOf, watchWarnings } from '../../scripts/fuzz/check.ts';
import { corpusOf } from '../../scripts/fuzz/corpus.ts';
import { withTable } from '../../scripts/fuzz/figures.ts';
import { superlinear } from '../../scripts/fuzz/growth.ts';
import { TARGETS } from '../../scripts/fuzz/targets/index.ts';
import { life } from '../../scripts/fuzz/targets/life.ts';
import { TARGETS as GROWING } from '../fixtures/growing-targets.ts';

describe('inputs that once caused defects', () => {
  before(watchWarnings);
  for (const target of TARGETS) {
    test(`are handled by the target ${target.name}`, async () => {
      for (const input of [...target.seeds, ...corpusOf(target)])
        assert.equal(await defectOf(target, input), undefined);
    });
  }
});

test('a run that is killed at any of its changes ends in the same state as one that is not', async () => {
  const document = life.seeds[0]?.replace(/^\d+\n/, '') ?? '';
  const changes = Number.parseInt(await life.run(`0\n${document}`), 10);
  assert.ok(changes > 20);
  // A change of a step is one or more changes of the machine.
  for (let at = 0; at < 2 * changes; at++) assert.equal(await life.run(`${at}\n${document}`), `${changes} changes`);
});

test('growth is decided by steps: a time that grows, as on a busy machine, is no defect', async () => {
  const family = { before: '', piece: 'a', after: '' };
  const module = import.meta.resolve('../fixtures/growing-targets.ts');
  const [quadratic, linear] = GROWING;
  assert.ok(quadratic !== undefined && linear !== undefined);
  const square = async (_: unknown, [input = '']: readonly string[]) => (input.length / 64) ** 2;
  const found = await superlinear(quadratic, family, module, square);
  assert.match(found?.defect ?? '', /^costs grow faster than the input: 4, 16, 64 ms /);
  assert.equal(await superlinear(linear, family, module, square), undefined);
});

describe('npm run fuzz', () => {
  const fuzz = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/fuzz.ts', ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    });

  test('finds nothing in a short run over every target, the same each time', () => {
    const { status, stdout, stderr } = fuzz('--minutes', '0.05', '--seed', '1');
    assert.equal(status, 0, stdout + stderr);
    for (const { name } of TARGETS) assert.match(stdout, new RegExp(`^${name} +[1-9]\\d* cases +0 defects`, 'm'));
  });

  test('has its figures in docs/fuzzing.md', () => {
    const page = readFileSync('docs/fuzzing.md', 'utf8');
    assert.equal(page, withTable(page, TARGETS), 'npm run fuzz -- --generate writes them');
  });

  test('names its targets where one is not known', () => {
    const { status, stderr } = fuzz('--target', 'nothing');
    assert.equal(status, 2);
    assert.match(stderr, /targets: document-yaml, /);
  });
});
