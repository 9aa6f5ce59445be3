import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';

const ci = resolve(import.meta.dirname, '../../../.ci/run');

describe('.ci/run', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-ci-'));
  after(() => rmSync(directory, { recursive: true }));

  /** Runs it with an npm that does what the shell text says; `$counts` is the file to count into. */
  function run(npm: Readonly<Record<'ci' | 'test' | 'slow' | 'mutate' | 'speed' | 'site' | 'e2e', string>>): {
    status: number | null;
    last: string | undefined;
  } {
    const script = [
      '#!/bin/bash',
      `counts=\${@: -1}`,
      `case "$1 \${2-}" in "ci "*) ${npm.ci} ;; "test "*) ${npm.test} ;; "run test:slow") ${npm.slow} ;; "run mutate") ${npm.mutate} ;; "run bench:gate") ${npm.speed} ;; "run test:site") ${npm.site} ;; "run test:e2e") ${npm.e2e} ;; "run setup:tests") ;; *) exit 99 ;; esac`,
    ];
    writeFileSync(join(directory, 'npm'), `${script.join('\n')}\n`, { mode: 0o755 });
    const environment = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
    const { status, stdout } = spawnSync(ci, [], { encoding: 'utf8', env: environment, cwd: '/' });
    return { status, last: stdout.trimEnd().split('\n').at(-1) };
  }

  const count = (passed: number, failed: number): string =>
    `echo '{"passed":${passed},"failed":${failed},"skipped":7}' >> "$counts"`;

  test('sums the parts and succeeds when all passed', () => {
    const result = run({
      ci: 'exit 0',
      test: count(40, 0),
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 0, last: '50 passed, 0 failed' });
  });

  test('runs the second part after a failure of the first, and fails', () => {
    const result = run({
      ci: 'exit 0',
      test: `${count(39, 1)}; exit 1`,
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '49 passed, 1 failed' });
  });

  test('takes a part that died before it could count for a failure', () => {
    const result = run({
      ci: 'exit 0',
      test: count(40, 0),
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: 'exit 139',
    });
    assert.deepEqual(result, { status: 1, last: '48 passed, 1 failed' });
  });

  test('fails when too few mutants are killed', () => {
    const result = run({
      ci: 'exit 0',
      test: count(40, 0),
      slow: count(4, 0),
      mutate: `${count(0, 1)}; exit 1`,
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '49 passed, 1 failed' });
  });

  test('fails when a slow test fails', () => {
    const result = run({
      ci: 'exit 0',
      test: count(40, 0),
      slow: `${count(3, 1)}; exit 1`,
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '49 passed, 1 failed' });
  });

  test('fails when it became slower', () => {
    const result = run({
      ci: 'exit 0',
      test: count(40, 0),
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: `${count(2, 1)}; exit 1`,
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '52 passed, 1 failed' });
  });

  test('fails when nothing could be installed', () => {
    const result = run({
      ci: 'exit 1',
      test: count(40, 0),
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '0 passed, 6 failed' });
  });

  test('fails when a part says so, whatever it counted', () => {
    const result = run({
      ci: 'exit 0',
      test: `${count(40, 0)}; exit 1`,
      slow: count(4, 0),
      mutate: count(1, 0),
      speed: count(0, 0),
      site: count(3, 0),
      e2e: count(2, 0),
    });
    assert.deepEqual(result, { status: 1, last: '50 passed, 1 failed' });
  });
});
