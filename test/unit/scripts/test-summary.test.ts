import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '../../..');

test('the summary reporter counts cancelled tests as failed and skipped ones as neither', () => {
  // With this variable the inner run would take itself for a part of this one.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const reporter = join(root, 'scripts/test-summary.ts');
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--test', `--test-reporter=${reporter}`, join(root, 'test/fixtures/test-summary/every-outcome.test.ts')],
    { encoding: 'utf8', env: environment },
  );
  assert.deepEqual(JSON.parse(stdout), { passed: 2, failed: 2, skipped: 1 });
  assert.equal(status, 1);
});
