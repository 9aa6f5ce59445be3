import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import * as z from 'zod';
import { CHECKOUT, git } from '../../support/checkout.ts';
import { needs } from '../../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');

/** Everything that may stand at the root. What programs write there by mistake belongs into .gitignore. */
const AT_THE_ROOT = [
  ...['.ci', '.editorconfig', '.gitattributes', '.github', '.gitignore', '.pre-commit-hooks.yaml'],
  ...['CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'biome.json', 'contract', 'docs', 'package-lock.json'],
  ...['package.json', 'packages', 'packaging', 'scripts', 'site', 'src', 'test', 'tsconfig.json'],
];

const Workflow = z.object({
  jobs: z.record(z.string(), z.object({ steps: z.array(z.object({ run: z.string().optional() })) })),
});

describe('the repository', { skip: needs('git', CHECKOUT) }, () => {
  test('has nothing at its root that does not belong there', () => {
    const names = new Set(
      git('ls-files')
        .trim()
        .split('\n')
        .map((path) => path.replace(/\/.*/, '')),
    );
    assert.deepEqual([...names].sort(), AT_THE_ROOT.toSorted());
  });
});

describe('the workflows of GitHub', () => {
  const scripts = new Set(Object.keys((JSON.parse(read('package.json')) as { readonly scripts: object }).scripts));
  for (const path of globSync('.github/workflows/*.yml', { cwd: ROOT })) {
    test(`${path} runs what exists`, () => {
      const { jobs } = Workflow.parse(parse(read(path)));
      const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));
      const ours = commands.filter((command) => /^(npm run|\.ci\/)/.test(command.trim()));
      assert.ok(ours.length > 0, path);
      for (const command of ours) {
        const [program = '', , script = ''] = command.trim().split(' ');
        assert.ok(program === 'npm' ? scripts.has(script) : existsSync(resolve(ROOT, program)), command);
      }
    });
  }
});
