import assert from 'node:assert/strict';
import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Baselines } from '../../../scripts/mutate/baselines.ts';
import { Coverage } from '../../../scripts/mutate/coverage.ts';
import { TestsByImport } from '../../../scripts/mutate/tests-by-import.ts';

const TEST = 'test/unit/a.test.ts';
type Range = readonly [start: number, end: number, count: number];

/** A report as V8 writes it. */
function report(path: string, ...functions: readonly (readonly Range[])[]): string {
  const found = functions.map((ranges) => ({
    ranges: ranges.map(([startOffset, endOffset, count]) => ({ startOffset, endOffset, count })),
  }));
  return JSON.stringify({ result: [{ url: pathToFileURL(path).href, functions: found }] });
}

/** A project with one test, and a runner that runs nothing and writes this coverage of the source. */
function project(directory: string) {
  for (const [file, text] of [
    ['src/a.ts', 'export const a = 1;\n'],
    ['src/b.ts', 'export const b = 1;\n'],
    ['test/support/help.ts', 'export const help = 1;\n'],
    [TEST, "import { a } from '../../src/a.ts';\nimport { help } from '../support/help.ts';\nexport { a, help };\n"],
  ] as const) {
    mkdirSync(join(directory, file, '..'), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
  const state = { runs: 0, passes: true };
  const runner: ConstructorParameters<typeof Baselines>[1] = {
    canSandbox: () => false,
    async run(_files, { environment }) {
      state.runs += 1;
      const reports = environment?.NODE_V8_COVERAGE ?? '';
      writeFileSync(join(reports, 'one.json'), report(join(directory, 'src/a.ts'), [[0, 10, 1]]));
      return { end: state.passes ? 'passed' : 'failed', ms: 7, by: '' };
    },
  };
  return { state, process: () => new Baselines(directory, runner, new TestsByImport(directory)) };
}

describe('the result of a test without a mutant', () => {
  test('is kept for later processes until the test, what it imports of the tests, or the source changes', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-baselines-'));
    const { state, process } = project(directory.path);
    const first = await process().of(TEST, 'src/a.ts');
    assert.deepEqual([first.passes, first.coverage.has('src/a.ts', 5), state.runs], [true, true, 1]);
    const kept = await process().of(TEST, 'src/a.ts');
    assert.deepEqual([kept.passes, kept.ms, kept.coverage.has('src/a.ts', 5), state.runs], [true, 7, true, 1]);
    assert.equal((await process().of(TEST, 'src/b.ts')).coverage.has('src/b.ts', 5), false);
    assert.equal(state.runs, 1);
    for (const file of ['src/a.ts', 'test/support/help.ts', TEST]) {
      const before: number = state.runs;
      writeFileSync(join(directory.path, file), `import { help } from '../support/help.ts';\n// ${file}\n`);
      await process().of(TEST, 'src/a.ts');
      assert.equal(state.runs, before + 1, file);
    }
  });

  test('is confirmed by one run in each process, and a failure is not kept', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-baselines-'));
    const { state, process } = project(directory.path);
    state.passes = false;
    assert.equal((await process().of(TEST, 'src/a.ts')).passes, false);
    state.passes = true;
    const baselines = process();
    await baselines.of(TEST, 'src/a.ts');
    assert.equal(state.runs, 2);
    const later = process();
    assert.equal(later.isConfirmed(TEST), false);
    await later.confirm(TEST);
    await later.confirm(TEST);
    await later.of(TEST, 'src/a.ts');
    assert.deepEqual([later.isConfirmed(TEST), state.runs], [true, 3]);
  });
});

test('the innermost range of a report says whether a place ran, in any process', () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-coverage-'));
  const path = join(directory.path, 'a.ts');
  const whole: Range = [0, 100, 1];
  const nested: readonly Range[] = [
    [60, 90, 2],
    [70, 80, 0],
    [72, 75, 1],
  ];
  writeFileSync(join(directory.path, '1.json'), report(path, [whole], [[10, 50, 0]], nested));
  writeFileSync(join(directory.path, '2.json'), report(path, [[0, 30, 0]], [[20, 25, 1]]));
  const read = Coverage.read(directory.path, directory.path);
  for (const coverage of [read, Coverage.from(JSON.parse(JSON.stringify(read.ran())))]) {
    const places = [0, 9, 10, 19, 20, 24, 25, 49, 50, 69, 70, 71, 72, 74, 75, 79, 80, 99, 100];
    assert.deepEqual(
      places.filter((at) => coverage.has('a.ts', at)),
      [0, 9, 20, 24, 50, 69, 72, 74, 80, 99],
    );
    assert.equal(coverage.has('b.ts', 0), false);
  }
});
