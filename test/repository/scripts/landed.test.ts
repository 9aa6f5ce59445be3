import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { landedLast } from '../../../scripts/bench/landed.ts';
import { needs } from '../../support/needs.ts';

test('what landed last is the main branch of the origin, or the last commit in a clone of it', {
  skip: needs('git'),
}, () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-landed-'));
  const git = (where: string, ...args: readonly string[]): string => {
    const settings = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main'];
    const done = spawnSync('git', [...settings, ...args], { cwd: where, encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  };
  const commit = (where: string, message: string): string => {
    git(where, 'commit', '--quiet', '--allow-empty', '--message', message);
    return git(where, 'rev-parse', 'HEAD');
  };
  const origin = directory.path;
  git(origin, 'init', '--quiet', 'origin');
  commit(join(origin, 'origin'), 'first');
  const landed = commit(join(origin, 'origin'), 'second');
  git(origin, 'clone', '--quiet', 'origin', 'clone');
  const clone = join(origin, 'clone');
  assert.equal(landedLast(clone), 'HEAD~1');
  commit(clone, 'third');
  commit(clone, 'fourth');
  assert.equal(landedLast(clone), landed);
});
