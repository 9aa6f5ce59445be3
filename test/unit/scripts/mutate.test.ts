import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { changedLines, landedLast, linesOfDiff } from '../../../scripts/mutate/changed-lines.ts';
import { Coverage } from '../../../scripts/mutate/coverage.ts';
import { type Mutant, mutantsOf, mutated, placeOf } from '../../../scripts/mutate/mutants.ts';
import { isCertainlyBelow, mutationTable, type Outcome, scoreOf, withLastRun } from '../../../scripts/mutate/report.ts';
import { sampleOf } from '../../../scripts/mutate/sample.ts';
import { TestsByImport } from '../../../scripts/mutate/tests-by-import.ts';
import { refusedByTypes } from '../../../scripts/mutate/types.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Each text that a mutant makes of this one, with the kind of change. */
function changesOf(text: string): readonly string[] {
  return mutantsOf('src/a.ts', text).map((mutant) => `${mutant.mutator}: ${mutated(text, mutant)}`);
}

function outcomes(killed: number, survived: number): readonly Outcome[] {
  const mutant: Mutant = {
    file: 'src/host/a.ts',
    start: 0,
    end: 1,
    line: 1,
    replacement: '',
    mutator: 'StringLiteral',
  };
  return Array.from({ length: killed + survived }, (_, index) => ({
    mutant,
    status: index < killed ? 'Killed' : 'Survived',
    by: '',
  }));
}

describe('the mutants of a source', () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    [
      'if (a < 1) { b(); }',
      [
        'ConditionalExpression: if (true) { b(); }',
        'ConditionalExpression: if (false) { b(); }',
        'EqualityOperator: if (a <= 1) { b(); }',
      ],
    ],
    [
      'const c = !a && (b as Map<string, number>) > d;',
      [
        'BooleanLiteral: const c = a && (b as Map<string, number>) > d;',
        'LogicalOperator: const c = !a || (b as Map<string, number>) > d;',
        'EqualityOperator: const c = !a && (b as Map<string, number>) >= d;',
      ],
    ],
    [
      'const x: readonly string[] = list.filter(f).map(g);',
      ['MethodExpression: const x: readonly string[] = list.map(g);'],
    ],
    [
      "function f(): void { g('word', 'a sentence', true); }",
      [
        'BlockStatement: function f(): void {}',
        "StringLiteral: function f(): void { g('', 'a sentence', true); }",
        "BooleanLiteral: function f(): void { g('word', 'a sentence', false); }",
      ],
    ],
    ["const path = directory + '/' + 'a b';", ["StringLiteral: const path = directory + '' + 'a b';"]],
    ['const n = a + 1;', ['ArithmeticOperator: const n = a - 1;']],
    ["import { a } from './a.ts';\nexport * from './b.ts';\nconst c = { 'd': 1 };", []],
    ['interface A { readonly b: true }\ntype C = "d";', []],
  ];
  for (const [text, changes] of table)
    test(text, () => assert.deepEqual([...changesOf(text)].sort(), [...changes].sort()));

  test('stand in the lines that they change', () => {
    assert.deepEqual(
      mutantsOf('src/a.ts', 'const a = 1;\n\nconst b = a === 1;\n').map(({ line }) => line),
      [3],
    );
  });
});

test('an operator counts as run where its left side has run, though its right side has not', () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-coverage-'));
  const text = "const f = (a) => a ?? 'none';\nconst g = (a) => a || 'none';\nf(1);\n";
  writeFileSync(join(directory.path, 'source.mjs'), text);
  const reports = join(directory.path, 'reports');
  spawnSync(process.execPath, [join(directory.path, 'source.mjs')], {
    env: { ...process.env, NODE_V8_COVERAGE: reports },
  });
  const coverage = Coverage.read(reports, directory.path);
  const operators = mutantsOf('source.mjs', text).filter(({ mutator }) => mutator === 'LogicalOperator');
  const seen = operators.map((mutant) => [mutant.line, coverage.has('source.mjs', placeOf(mutant))]);
  assert.deepEqual(seen, [
    [1, true],
    [2, false],
  ]);
  assert.ok(operators.every((mutant) => !coverage.has('source.mjs', mutant.start)));
});

describe('the mutants that the compiler refuses', () => {
  test('are those with an error that the unchanged source has not, unless it only says that something is unused', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-types-test-'));
    const project = directory.path;
    mkdirSync(join(project, 'src'));
    mkdirSync(join(project, 'node_modules'));
    symlinkSync(join(root, 'node_modules/typescript'), join(project, 'node_modules/typescript'));
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    const compilerOptions = {
      strict: true,
      noEmit: true,
      types: [],
      lib: ['es2024'],
      target: 'es2024',
      noUnusedLocals: true,
    };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, module: 'nodenext', allowImportingTsExtensions: true } }),
    );
    writeFileSync(
      join(project, 'src/port.ts'),
      [
        "import { same } from './same.ts';",
        "export type Kind = 'tcp' | 'udp';",
        'export class Port { readonly #number = 1; get number() { return this.#number; } }',
        "export function kindOf(name: string | undefined): Kind { if (name === undefined) return 'udp'; return name.length > 3 ? 'tcp' : 'udp'; }",
        'export const other = same(new Port());',
        "export function words(list: readonly string[]): string { const joined = list.join(','); return list.length > 1 ? joined : ''; }",
      ].join('\n'),
    );
    // Of the copy its class is another one than of the original.
    writeFileSync(
      join(project, 'src/same.ts'),
      "import type { Port } from './port.ts';\nexport function same(port: Port): Port { return port; }\n",
    );
    const mutants = mutantsOf('src/port.ts', readFileSync(join(project, 'src/port.ts'), 'utf8'));
    const refused = await refusedByTypes(project, mutants);
    const describeOne = ({ line, mutator, replacement }: Mutant): string => `${line} ${mutator} ${replacement}`;
    assert.deepEqual([...refused].map(describeOne), [
      '3 BlockStatement {}',
      '4 BlockStatement {}',
      // What follows would have a name that never is.
      '4 ConditionalExpression true',
      '4 ConditionalExpression false',
      '4 EqualityOperator !==',
      "4 StringLiteral ''",
      "4 StringLiteral ''",
      "4 StringLiteral ''",
      '6 BlockStatement {}',
    ]);
    // Unused is no error: `false` for the condition leaves `joined` without a reader.
    assert.ok(mutants.some((one) => describeOne(one) === '6 ConditionalExpression false' && !refused.has(one)));
  });
});

describe('the tests of a source', () => {
  const tests = new TestsByImport(root);

  test('begin with the one of its name', () => {
    assert.equal(tests.of('src/steps/swap.ts')[0], 'test/unit/steps/swap.test.ts');
  });

  test('of the same room come before those of others, however many of these import it', () => {
    const all = tests.of('packages/document/src/sections/kubernetes/checks-components.ts');
    const first = all.findIndex((one) => !/^test\/(?:unit|thorough)\/(?:document\/|scripts\/generate\.test)/.test(one));
    assert.ok(first > 0 && all.slice(0, first).includes('test/unit/document/kubeadm-rules.test.ts'));
    assert.ok(!all.slice(first).some((one) => /^test\/(?:unit|thorough)\/document\//.test(one)));
  });

  test('are found through what others import, packages too', () => {
    assert.ok(tests.of('packages/document/src/secret.ts').includes('test/unit/steps/swap.test.ts'));
  });

  test('are none of a file that nobody imports', () => {
    assert.deepEqual(tests.of('src/nobody.ts'), []);
  });
});

describe('the lines that were changed', () => {
  test('are those of the new sources', () => {
    const diff = [
      'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,0 +2,3 @@ x\n+1\n+2\n+3\n@@ -9 +12 @@\n-x\n+y',
      '--- a/src/gone.ts\n+++ b/src/gone.ts\n@@ -3,2 +2,0 @@\n-x\n-y',
      '--- a/test/unit/a.test.ts\n+++ b/test/unit/a.test.ts\n@@ -1 +1 @@\n-x\n+y',
    ].join('\n');
    assert.deepEqual(linesOfDiff(diff), new Map([['src/a.ts', new Set([2, 3, 4, 12])]]));
  });

  test('are not known without the history', () => {
    assert.equal(changedLines(root, 'no-such-commit'), 'there is no commit no-such-commit here');
  });

  test('since what landed last are those since the main branch of the origin, or of the last commit in a clone of it', () => {
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
    git(origin, 'clone', '--quiet', '--depth=1', `file://${origin}/origin`, 'shallow');
    const shallow = join(origin, 'shallow');
    assert.equal(changedLines(shallow, landedLast(shallow)), 'there is no commit HEAD~1 here');
  });
});

describe('the result', () => {
  test('of a sample is the same for the same seed, and another for another', () => {
    const all = Array.from({ length: 100 }, (_, index) => index);
    assert.deepEqual(sampleOf(all, 10, 1), sampleOf(all, 10, 1));
    assert.notDeepEqual(sampleOf(all, 10, 1), sampleOf(all, 10, 2));
    assert.deepEqual(
      sampleOf(all, 200, 1).toSorted((a, b) => a - b),
      all,
    );
  });

  test('is the share of the killed', () => {
    assert.equal(scoreOf(outcomes(17, 3)), 0.85);
    assert.equal(scoreOf([]), 1);
    assert.match(mutationTable(outcomes(17, 3)), /^\| host \| 20 \| 17 \| 0 \| 3 \| 0 \| 85 % \|$/m);
  });

  test('of a whole run replaces that of the one before, and nothing else of the page', () => {
    const page = '# Mutation tests\n\nWords.\n\n## The last whole run\n\nold\n';
    const run = { possible: 40_000, seed: '3', date: '2026-11-22', commit: 'abc1234' };
    const written = withLastRun(page, outcomes(1, 1), run);
    assert.match(written, /^# Mutation tests\n\nWords\.\n\n## The last whole run\n\n2026-11-22, commit abc1234: /);
    assert.match(written, /--sample 2 --seed 3 --generate`, 2 of 40,000 mutants\.\n/);
    assert.match(written, /These survived:\n\n- `src\/host\/a\.ts:1` StringLiteral\n$/);
    assert.doesNotMatch(written, /old/);
    assert.equal(withLastRun(written, outcomes(1, 1), run), written);
  });

  test('is too bad for chance, or may be chance', () => {
    assert.equal(isCertainlyBelow(outcomes(12, 8), 0.85), true);
    assert.equal(isCertainlyBelow(outcomes(16, 4), 0.85), false);
    assert.equal(isCertainlyBelow([], 0.85), false);
  });
});
