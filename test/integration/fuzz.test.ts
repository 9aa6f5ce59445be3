import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { corpusOf, defectOf } from '../../scripts/fuzz/check.ts';
import { TARGETS } from '../../scripts/fuzz/targets/index.ts';

describe('inputs that once were defects', () => {
  for (const target of TARGETS) {
    test(target.name, async () => {
      for (const input of [...target.seeds, ...corpusOf(target)])
        assert.equal(await defectOf(target, input), undefined);
    });
  }
});

describe('npm run fuzz', () => {
  const fuzz = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/fuzz.ts', ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    });

  test('finds nothing in a short run over every target', () => {
    const { status, stdout, stderr } = fuzz('--minutes', '0.15');
    assert.equal(status, 0, stdout + stderr);
    for (const { name } of TARGETS) assert.match(stdout, new RegExp(`^${name} +[1-9]\\d* cases +0 defects`, 'm'));
  });

  test('names its targets where one is not known', () => {
    const { status, stderr } = fuzz('--target', 'nothing');
    assert.equal(status, 2);
    assert.match(stderr, /targets: document-yaml, /);
  });
});
