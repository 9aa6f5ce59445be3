import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';

const ci = resolve(import.meta.dirname, '../../../.ci/run');

const count = (passed: number, failed: number): string =>
  `echo '{"passed":${passed},"failed":${failed},"skipped":7}' >> "$counts"`;

/** What each part does if all of them pass, as shell text; `$counts` is the file for the counts. */
const PASSES = {
  ci: 'exit 0',
  test: count(40, 0),
  'run test:slow': count(4, 0),
  'run test:fresh': count(1, 0),
  'run bench:gate': count(0, 0),
  'run test:site': count(3, 0),
  'run test:e2e': count(2, 0),
};

describe('.ci/run', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-ci-'));
  after(() => rmSync(directory, { recursive: true }));

  /** Runs it with an npm that does what the parts say. */
  function run(parts: Partial<typeof PASSES>): {
    readonly status: number | null;
    readonly stdout: string;
    readonly last: string | undefined;
  } {
    const cases = Object.entries({ ...PASSES, ...parts }).map(
      ([name, does]) =>
        `"${name.startsWith('run ') ? name : `${name} `}"${name === 'test' || name === 'ci' ? '*' : ''}) ${does} ;;`,
    );
    const script = [
      '#!/bin/bash',
      `counts=\${@: -1}`,
      `case "$1 \${2-}" in ${cases.join(' ')} "run setup:tests") ;; *) exit 99 ;; esac`,
    ];
    writeFileSync(join(directory, 'npm'), `${script.join('\n')}\n`, { mode: 0o755 });
    const environment = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
    const { status, stdout } = spawnSync(ci, [], { encoding: 'utf8', env: environment, cwd: '/' });
    return { status, stdout, last: stdout.trimEnd().split('\n').at(-1) };
  }

  for (const [what, parts, status, last] of [
    ['sums the parts and succeeds when all passed', {}, 0, '50 passed, 0 failed'],
    [
      'runs the second part after a failure of the first, and fails',
      { test: `${count(39, 1)}; exit 1` },
      1,
      '49 passed, 1 failed',
    ],
    [
      'takes a part that died before it could count for a failure',
      { 'run test:e2e': 'exit 139' },
      1,
      '48 passed, 1 failed',
    ],
    [
      'fails when a test fails as on a new machine',
      { 'run test:fresh': `${count(0, 1)}; exit 1` },
      1,
      '49 passed, 1 failed',
    ],
    ['fails when a slow test fails', { 'run test:slow': `${count(3, 1)}; exit 1` }, 1, '49 passed, 1 failed'],
    ['fails when it became slower', { 'run bench:gate': `${count(2, 1)}; exit 1` }, 1, '52 passed, 1 failed'],
    ['fails when nothing could be installed', { ci: 'exit 1' }, 1, '0 passed, 6 failed'],
    ['fails when a part says so, whatever it counted', { test: `${count(40, 0)}; exit 1` }, 1, '50 passed, 1 failed'],
  ] as const)
    test(what, () => {
      const ran = run(parts);
      assert.deepEqual({ status: ran.status, last: ran.last }, { status, last });
    });

  test('repeats the failures of all parts at its end, with the time of each part', () => {
    const failure = '1 failed in test/unit/x.test.ts\n  a sum > "failed": 7, of both\n    1 !== 2';
    const { stdout, last } = run({ test: `${count(39, 1)}; echo '${failure}' >> "$counts"; echo noise; exit 1` });
    assert.match(stdout, /\nnpm test --: \d+ s\nnpm run test:slow: \d+ s\n/);
    assert.ok(stdout.trimEnd().endsWith(`${failure}\n${last}`), stdout);
    assert.equal(last, '49 passed, 1 failed');
  });
});
