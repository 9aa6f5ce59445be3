import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { Coverage } from './coverage.ts';
import type { TestRunner } from './run-tests.ts';
import type { TestsByImport } from './tests-by-import.ts';

/** One run of a test file without a mutant. */
export interface Baseline {
  readonly passes: boolean;
  readonly ms: number;
  readonly coverage: Coverage;
}

/** A run of an earlier process. */
const BaselineRecord = z.object({
  /** Of the test file and of all files that it imports. */
  digest: z.string(),
  ms: z.number(),
  ran: z.record(z.string(), z.array(z.array(z.int()))),
});

const LIMIT_MS = 120_000;

/**
 * The results and the coverage of test files without a mutant. Those that passed are kept in `node_modules/.cache`, because
 * one run of each test costs more than many mutants. A kept result only selects tests: before a failure counts as a kill,
 * `confirm` runs the test without the mutant in this process.
 */
export class Baselines {
  readonly #root: string;
  readonly #runner: TestRunner;
  readonly #tests: TestsByImport;
  readonly #known = new Map<string, Promise<Baseline>>();
  readonly #confirmed = new Map<string, Promise<Baseline>>();

  constructor(root: string, runner: TestRunner, tests: TestsByImport) {
    this.#root = root;
    this.#runner = runner;
    this.#tests = tests;
  }

  /** The baseline of a test file, from an earlier process if neither the file nor its imports changed. */
  of(test: string): Promise<Baseline> {
    const known = this.#known.get(test) ?? Promise.resolve(this.#read(test) ?? this.#run(test));
    this.#known.set(test, known);
    return known;
  }

  /** Runs the test file without a mutant, once in this process. */
  confirm(test: string): Promise<Baseline> {
    return this.#confirmed.get(test) ?? this.#run(test);
  }

  isConfirmed(test: string): boolean {
    return this.#confirmed.has(test);
  }

  #run(test: string): Promise<Baseline> {
    const run = (async () => {
      const isSandboxed = this.#runner.canSandbox('unit');
      // The sandbox has an empty /tmp, but shares the other mounts.
      await using directory = await mkdtempDisposable(
        join(isSandboxed ? '/dev/shm' : tmpdir(), 'machineadm-coverage-'),
      );
      const environment = { NODE_V8_COVERAGE: directory.path };
      const { end, ms } = await this.#runner.run([test], { environment, sandbox: 'unit', limitMs: LIMIT_MS });
      const baseline = { passes: end === 'passed', ms, coverage: Coverage.read(directory.path, this.#root) };
      if (baseline.passes) this.#write(test, baseline);
      return baseline;
    })();
    this.#known.set(test, run);
    this.#confirmed.set(test, run);
    return run;
  }

  #read(test: string): Baseline | undefined {
    const path = this.#pathOf(test);
    if (!existsSync(path)) return undefined;
    const { digest, ms, ran } = BaselineRecord.parse(JSON.parse(readFileSync(path, 'utf8')));
    return digest === this.#digestOf(test) ? { passes: true, ms, coverage: Coverage.from(ran) } : undefined;
  }

  #write(test: string, { ms, coverage }: Baseline): void {
    const path = this.#pathOf(test);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ digest: this.#digestOf(test), ms: Math.round(ms), ran: coverage.ran() }));
  }

  #pathOf(test: string): string {
    return join(this.#root, 'node_modules/.cache/mutate/baselines', `${test.replaceAll('/', '_')}.json`);
  }

  #digestOf(test: string): string {
    const digest = createHash('sha256').update(process.version);
    for (const file of ['package-lock.json', ...this.#tests.closureOf(test)])
      digest.update(`\0${file}\0`).update(readFileSync(join(this.#root, file)));
    return digest.digest('hex');
  }
}
