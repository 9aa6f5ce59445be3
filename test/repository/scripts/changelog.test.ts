import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { changesOf } from '../../../scripts/release/changelog.ts';
import { needs } from '../../support/needs.ts';

describe('the changelog', { skip: needs('git') }, () => {
  const checkout = mkdtempSync(join(tmpdir(), 'machineadm-changelog-'));
  after(() => rmSync(checkout, { recursive: true }));
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: checkout,
    ...Object.fromEntries(['AUTHOR', 'COMMITTER'].map((who) => [`GIT_${who}_DATE`, '2026-01-02T03:04:05Z'])),
  };
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: checkout,
      encoding: 'utf8',
      stdio: 'pipe',
      env,
    });
  let count = 0;
  const commit = (message: string, ...files: readonly string[]): void => {
    for (const file of files) {
      mkdirSync(dirname(join(checkout, file)), { recursive: true });
      writeFileSync(join(checkout, file), `${++count}`);
    }
    git('add', '.');
    git('commit', '--quiet', '--message', message);
  };
  const text = () => changesOf(checkout, '1.1.0', new Date('2026-02-03T00:00:00Z'));
  const shown = (markdown: string): string => markdown.replace(/ \([0-9a-f]{7,}\)$/gm, '');

  before(() => {
    git('init', '--quiet', '--initial-branch=main');
    commit('Begin', 'src/document/a.ts');
    git('tag', 'v1.0.0');
    git('tag', 'not-a-version');
    commit('Read a field', 'src/document/b.ts', 'test/unit/b.test.ts', 'test/unit/c.test.ts', 'docs/b.md');
    commit('Explain <b> and *c*', 'docs/c.md');
    commit('feat(convert): read Ignition', 'src/convert/d.ts');
    commit('fix: the clock', 'src/host/e.ts');
    commit('Rename a field\n\nBREAKING CHANGE: name is title now', 'src/document/f.ts');
    commit('Render a field', 'packages/kubeadm/src/h.ts');
    commit('Read one more archive', 'packages/archives/src/k.ts');
    commit('Name a failure', 'packages/failures/src/i.ts');
    commit('Wrap for one more provider', 'packages/user-data/src/j.ts');
    commit('Test more', 'test/unit/g.test.ts');
  });

  test('has the commits since the last tag of a version, by type or by the part that they change', () => {
    assert.equal(
      shown(text().notes),
      `## 1.1.0 (2026-02-03)

### Breaking changes

- Rename a field

### Features

- read Ignition

### Fixes

- the clock

### The document

- Read a field

### Kubernetes

- Render a field

### Steps on the machine

- Read one more archive

### Diagnosis

- Name a failure

### User data and downloads

- Wrap for one more provider

### Documentation

- Explain \\<b\\> and \\*c\\*

### Tests and tools

- Test more
`,
    );
  });

  test('has every release, the newest first, and is the same again', () => {
    const { notes, changelog } = text();
    assert.equal(
      shown(changelog),
      `# Changelog\n\n${shown(notes)}\n## 1.0.0 (2026-01-02)\n\n### The document\n\n- Begin\n`,
    );
    assert.equal(text().changelog, changelog);
  });

  test('is not made of a part of the history', () => {
    const shallow = join(checkout, 'shallow');
    git('clone', '--quiet', '--depth=1', `file://${checkout}`, shallow);
    assert.throws(() => changesOf(shallow, '1.1.0', new Date(0)), /git fetch --unshallow/);
  });
});
