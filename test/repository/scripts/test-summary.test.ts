import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import type { TestCase } from '../../../scripts/test-cases.ts';

const root = resolve(import.meta.dirname, '../../..');

/** What a reporter prints of one test of every outcome. */
function reported(reporter: string): { readonly stdout: string; readonly status: number | null } {
  // With this variable the inner run would take itself for a part of this one.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const file = join(root, 'test/fixtures/test-summary/every-outcome.test.ts');
  const args = ['--test', '--test-isolation=none', `--test-reporter=${join(root, 'scripts', reporter)}`, file];
  return spawnSync(process.execPath, args, { encoding: 'utf8', env: environment });
}

test('the summary reporter counts cancelled tests as failed and skipped ones, with suites, as neither', () => {
  const { stdout, status } = reported('test-summary.ts');
  const { cpuSeconds, failures, skips, ...counts } = JSON.parse(stdout);
  assert.deepEqual(counts, { passed: 2, failed: 2, skipped: 2 });
  assert.deepEqual(skips, ['as it is meant to be', 'as a whole']);
  assert.deepEqual(
    failures.map(({ name }: TestCase) => name),
    ['fails', 'a suite whose before hook fails > is cancelled', 'a suite whose before hook fails'],
  );
  assert.equal(cpuSeconds > 0, process.platform === 'linux');
  assert.equal(status, 1);
});

test('the reporter of cases names each, with the suite it is in, and why it failed or was skipped', () => {
  const lines = reported('test-cases.ts').stdout.trimEnd().split('\n');
  const cases: readonly TestCase[] = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    cases.map(({ name, outcome }) => `${outcome}: ${name}`),
    [
      'passed: passes',
      'passed: passes too',
      'failed: fails',
      'skipped: is skipped',
      'failed: a suite whose before hook fails > is cancelled',
      'failed: a suite whose before hook fails',
      'skipped: a suite that is skipped',
    ],
  );
  const [failed, skipped, cancelled] = cases.slice(2);
  assert.match(failed?.because ?? '', /^AssertionError.*as it is meant to\n.*every-outcome\.test\.ts/s);
  assert.equal(skipped?.because, 'as it is meant to be');
  assert.match(cancelled?.because ?? '', /./);
});
