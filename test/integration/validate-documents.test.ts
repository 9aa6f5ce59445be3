import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exampleDocument } from '@machineadm/document/index.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { MAIN } from '../support/agent.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CHECKS = join(ROOT, 'packaging/checks');
const Action = z.object({
  inputs: z.object({ paths: z.object({ default: z.string() }) }),
  runs: z.object({
    using: z.literal('composite'),
    steps: z.tuple([z.object({ shell: z.literal('bash'), env: z.record(z.string(), z.string()), run: z.string() })]),
  }),
});
const Hooks = z.tuple([z.object({ id: z.string(), entry: z.string(), language: z.literal('script') })]);
const yaml = (path: string): unknown => parse(readFileSync(path, 'utf8'));

describe('documents are validated in a repository', { skip: needs('POSIX files') }, () => {
  let directory = '';
  let path = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-checks-'));
    const bin = join(directory, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(bin, 'machineadm'), 0o755);
    path = `${bin}:/usr/bin:/bin`;
    for (const folder of ['good', 'bad dir', '-hyphen', '.git']) mkdirSync(join(directory, folder));
    const invalid = exampleDocument('Worker').replace('host:', 'hosts:');
    writeFileSync(join(directory, 'good/node.yaml'), exampleDocument('Worker'));
    writeFileSync(join(directory, 'good/other.yaml'), 'apiVersion: v1\nkind: ConfigMap\n');
    writeFileSync(join(directory, 'bad dir/node one.yml'), invalid);
    writeFileSync(join(directory, '-hyphen/node.yaml'), invalid);
    writeFileSync(join(directory, '.git/node.yaml'), invalid);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const hook = (...args: readonly string[]) => {
    const [{ entry }] = Hooks.parse(yaml(join(ROOT, '.pre-commit-hooks.yaml')));
    return spawnSync(join(ROOT, entry), args, { cwd: directory, env: { PATH: path }, encoding: 'utf8' });
  };
  const action = (paths?: string) => {
    const { inputs, runs } = Action.parse(yaml(join(CHECKS, 'action.yml')));
    const [{ run, env }] = runs.steps;
    assert.deepEqual(env, { PATHS: '${' + '{ inputs.paths }}' });
    return spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run], {
      cwd: directory,
      env: { PATH: path, PATHS: paths ?? inputs.paths.default, GITHUB_ACTION_PATH: CHECKS },
      encoding: 'utf8',
    });
  };

  test('a valid document passes, and other YAML files are ignored', () => {
    const { status, stderr } = hook('good/node.yaml', 'good/other.yaml');
    assert.equal(status, 0, stderr);
  });

  test('an invalid document fails with its place and exit code 3, whatever is validated after it', () => {
    const { status, stdout, stderr } = hook('bad dir/node one.yml', 'good/node.yaml');
    assert.equal(status, 3, stderr);
    assert.match(stdout + stderr, /bad dir\/node one\.yml:\d+:1 {2}hosts: unknown key/);
    assert.match(stdout + stderr, /\[DocumentInvalid\]/);
  });

  test('pre-commit runs the hook', { skip: needs('pre-commit', 'git') }, () => {
    const [repository, work] = [join(directory, 'repository'), join(directory, 'work')];
    cpSync(CHECKS, join(repository, 'packaging/checks'), { recursive: true });
    cpSync(join(ROOT, '.pre-commit-hooks.yaml'), join(repository, '.pre-commit-hooks.yaml'));
    cpSync(join(directory, 'good'), work, { recursive: true });
    cpSync(join(directory, 'bad dir'), work, { recursive: true });
    const env = { PATH: `${path}:${process.env.PATH}`, HOME: directory };
    const git = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    for (const cwd of [repository, work]) {
      for (const args of [
        ['init', '-q'],
        ['add', '.'],
        [...git, 'commit', '-qm', 'a'],
      ])
        assert.equal(spawnSync('git', args, { cwd, env, encoding: 'utf8' }).status, 0, args.join(' '));
    }
    const commit = (...files: readonly string[]) =>
      spawnSync('pre-commit', ['try-repo', repository, 'machineadm-validate', '--files', ...files], {
        cwd: work,
        env,
        encoding: 'utf8',
      });
    const valid = commit('node.yaml', 'other.yaml');
    assert.equal(valid.status, 0, valid.stdout + valid.stderr);
    const invalid = commit('node one.yml', 'node.yaml');
    assert.equal(invalid.status, 1, invalid.stdout + invalid.stderr);
    assert.match(invalid.stdout, /exit code: 3\n[\s\S]*node one\.yml:\d+:1 {2}hosts: unknown key/);
  });

  test('a path that starts with a hyphen is no option', () => assert.equal(hook('-hyphen').status, 3));

  test('a path that does not exist, and no path at all, are usage errors', () => {
    const missing = hook('good', 'absent');
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /no such file or directory: absent/);
    assert.equal(hook().status, 2);
  });

  test('without machineadm, nothing passes', () => {
    path = '/usr/bin:/bin';
    try {
      const { status, stderr } = hook('good/node.yaml');
      assert.equal(status, 127);
      assert.match(stderr, /machineadm is not in PATH/);
    } finally {
      path = `${join(directory, 'bin')}:${path}`;
    }
  });

  test('the action validates the lines of its input, by default everything but .git', () => {
    assert.equal(action('good\n').status, 0);
    assert.equal(action('good\n  \nbad dir\n').status, 3);
    const everything = action();
    assert.equal(everything.status, 3);
    assert.doesNotMatch(everything.stdout + everything.stderr, /\.git\//);
    assert.notEqual(action('\n').status, 0);
  });
});
