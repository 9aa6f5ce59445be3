import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { Plugin } from 'esbuild';
import * as z from 'zod';
import { bundleAgent } from '../prepare-agent.ts';
import { blockAt, blocksOf, withoutTypes, withProbes } from './blocks.ts';
import { type Mutant, mutated } from './mutants.ts';
import type { Outcome } from './report.ts';
import type { TestRunner } from './run-tests.ts';

/** The tests of `npm test` that run the agent, or the sources on a real machine. */
const TESTS = 'test/{integration,slow,attacks}/**/*.test.ts';
/** The maximum number of test files for a mutant, and the maximum sum of their usual durations. */
const MAX_FILES = 8;
const MAX_TOTAL_MS = 150_000;
const SPARE_MS = 60_000;
const MAX_MS = 600_000;

/** The result and the coverage of an integration test file without a mutant. */
const TestRecord = z.object({
  /** Of the test file. */
  digest: z.string(),
  passes: z.boolean(),
  ms: z.number(),
  /** By source: its digest at that time, and the offsets of the blocks that ran. */
  sources: z.record(z.string(), z.object({ digest: z.string(), blocks: z.array(z.int()) })),
});
export type TestRecord = z.infer<typeof TestRecord>;

/**
 * Whether the record of a test file is valid for a source. If the test only loads the source and calls no function in it, a
 * change of the source does not matter.
 */
export function isRecordValid(record: TestRecord, test: string, file: string, source: string): boolean {
  const known = record.sources[file];
  return (
    record.digest === test && (known === undefined || known.digest === source || known.blocks.every((at) => at === 0))
  );
}

/** The tests that cover a block of a source, sorted by the expected time until they detect a change. */
export function testsOfBlock(
  records: ReadonlyMap<string, TestRecord>,
  file: string,
  block: number,
): readonly (readonly [test: string, ms: number])[] {
  const [room = '', name] = [file.split('/')[1], basename(file, '.ts')];
  const cost = (test: string, ms: number): number =>
    ms * (basename(test, '.test.ts') === name ? 0.05 : test.split('/').includes(room) ? 0.3 : 1);
  return [...records]
    .filter(([, { passes, sources }]) => passes && sources[file]?.blocks.includes(block) === true)
    .map(([test, { ms }]) => [test, ms] as const)
    .sort(([a, x], [b, y]) => cost(a, x) - cost(b, y));
}

/** Runs integration tests with an agent that contains a mutant. */
export class IntegrationTests {
  readonly #root: string;
  readonly #runner: TestRunner;
  readonly #tests: readonly string[];
  readonly #records = new Map<string, TestRecord>();
  #recording: Promise<void> = Promise.resolve();
  #bundles = 0;

  constructor(root: string, runner: TestRunner) {
    this.#root = root;
    this.#runner = runner;
    this.#tests = globSync(TESTS, { cwd: root }).sort();
    for (const test of this.#tests) {
      const path = this.#cacheOf(test);
      if (existsSync(path)) this.#records.set(test, TestRecord.parse(JSON.parse(readFileSync(path, 'utf8'))));
    }
  }

  /** The result of the tests for a mutant; undefined if none of them covers it. */
  async judge(mutant: Mutant): Promise<Outcome | undefined> {
    // Recordings are serialized, because several mutants may need the same one.
    this.#recording = this.#recording.then(() => this.#record(mutant.file));
    await this.#recording;
    const text = readFileSync(join(this.#root, mutant.file), 'utf8');
    const block = blockAt(blocksOf(withoutTypes(text)), mutant.start);
    const chosen = testsOfBlock(this.#records, mutant.file, block).slice(0, MAX_FILES);
    if (chosen.length === 0) return undefined;
    const name = `mutant-${process.pid}-${this.#bundles++}`;
    const agent = await bundleAgent(name, [withMutant(this.#root, mutant, text)]);
    try {
      let spent = 0;
      for (const [test, ms] of chosen) {
        if (spent > 0 && spent + ms > MAX_TOTAL_MS) continue;
        spent += ms;
        const options = {
          mutant,
          sandbox: 'integration',
          limitMs: 5 * ms + SPARE_MS,
          environment: { AGENT_UNDER_TEST: agent },
        } as const;
        const { end } = await this.#runner.run([test], options);
        // A failure must be repeatable: a flaky test detects nothing.
        if (end === 'passed' || (await this.#runner.run([test], options)).end === 'passed') continue;
        return { mutant, status: end === 'failed' ? 'Killed' : 'Timeout', by: test };
      }
    } finally {
      rmSync(dirname(agent), { recursive: true });
    }
    return { mutant, status: 'Survived', by: '' };
  }

  /** Records the coverage of each test without a valid record for this source. */
  async #record(file: string): Promise<void> {
    const source = this.#digest(file);
    const waiting = this.#tests.filter((test) => {
      const record = this.#records.get(test);
      return record === undefined || !isRecordValid(record, this.#digest(test), file, source);
    });
    if (waiting.length === 0) return;
    console.log(`mutants: recording what ${waiting.length} integration tests run`);
    const worker = async (): Promise<void> => {
      await using directory = await mkdtempDisposable('/dev/shm/machineadm-ran-');
      const agent = await bundleAgent(basename(directory.path), [probes(this.#root, directory.path)]);
      try {
        for (let test = waiting.shift(); test !== undefined; test = waiting.shift())
          await this.#recordTest(test, agent, directory.path);
      } finally {
        rmSync(dirname(agent), { recursive: true });
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
  }

  async #recordTest(test: string, agent: string, directory: string): Promise<void> {
    const environment = { AGENT_UNDER_TEST: agent, MACHINEADM_RAN: directory };
    const options = { sandbox: 'integration', limitMs: MAX_MS } as const;
    const { end, ms } = await this.#runner.run([test], { ...options, environment });
    const blocks = new Map<string, Set<number>>();
    for (const name of readdirSync(directory)) {
      for (const line of readFileSync(join(directory, name), 'utf8').split('\n')) {
        const [file = '', block = ''] = line.split(' ');
        if (block !== '') blocks.set(file, (blocks.get(file) ?? new Set()).add(Number(block)));
      }
      rmSync(join(directory, name));
    }
    // The probes take time and keep a file open: a test that fails with them may pass without.
    const passes = end === 'passed' || (await this.#runner.run([test], options)).end === 'passed';
    const record: TestRecord = {
      digest: this.#digest(test),
      passes,
      ms: Math.round(ms),
      sources: Object.fromEntries(
        [...blocks].map(([file, ran]) => [
          file,
          { digest: this.#digest(file), blocks: [...ran].sort((a, b) => a - b) },
        ]),
      ),
    };
    this.#records.set(test, record);
    mkdirSync(dirname(this.#cacheOf(test)), { recursive: true });
    writeFileSync(this.#cacheOf(test), JSON.stringify(record));
    console.log(
      `mutants: ${test} ${passes ? 'passes' : 'fails'} within ${Math.round(ms / 1000)} s, and runs ${blocks.size} sources`,
    );
  }

  #cacheOf(test: string): string {
    return join(this.#root, 'node_modules/.cache/ran', `${test.replaceAll('/', '_')}.json`);
  }

  #digest(file: string): string {
    return createHash('sha256')
      .update(readFileSync(join(this.#root, file)))
      .digest('hex');
  }
}

/** A plugin that replaces a module with its mutant. */
function withMutant(root: string, mutant: Mutant, text: string): Plugin {
  return {
    name: 'mutant',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path === join(root, mutant.file) ? { contents: mutated(text, mutant), loader: 'ts' } : undefined,
      );
    },
  };
}

/** A plugin that adds probes to the sources, which record the blocks that run in a directory. */
function probes(root: string, directory: string): Plugin {
  return {
    name: 'probes',
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
        contents: withProbes(relative(root, path), readFileSync(path, 'utf8')),
        loader: 'js',
      }));
      onLoad({ filter: /\/mutate\/ran\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace('process.env.MACHINEADM_RAN', JSON.stringify(directory)),
        loader: 'ts',
      }));
    },
  };
}
