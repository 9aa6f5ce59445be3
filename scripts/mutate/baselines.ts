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
  /** Of the test file and of all files below test/ that it imports. */
  digest: z.string(),
  ms: z.number(),
  /** By source: its digest at that time, and the parts that ran. */
  sources: z.record(z.string(), z.object({ digest: z.string(), ran: z.array(z.array(z.int())) })),
});
type BaselineRecord = z.infer<typeof BaselineRecord>;

const LIMIT_MS = 120_000;

/**
 * The results and the coverage of test files without a mutant. Those that passed are kept in `node_modules/.cache`, because
 * one run of each test costs more than many mutants. A kept result only selects tests: before a failure counts as a kill,
 * `confirm` runs the test without the mutant in this process.
 */
export class Baselines {
  readonly #root: string;
  readonly #runner: Pick<TestRunner, 'canSandbox' | 'run'>;
  readonly #tests: TestsByImport;
  readonly #records = new Map<string, BaselineRecord | undefined>();
  readonly #confirmed = new Map<string, Promise<Baseline>>();
  readonly #digests = new Map<string, string>();

  constructor(root: string, runner: Pick<TestRunner, 'canSandbox' | 'run'>, tests: TestsByImport) {
    this.#root = root;
    this.#runner = runner;
    this.#tests = tests;
  }

  /** The baseline of a test file for mutants of a source: from an earlier process if neither the test nor the source changed. */
  async of(test: string, source: string): Promise<Baseline> {
    const record = this.isConfirmed(test) ? undefined : this.#recordOf(test);
    const known = record?.sources[source];
    if (record === undefined || (known !== undefined && known.digest !== this.#digestOf([source])))
      return await this.confirm(test);
    return { passes: true, ms: record.ms, coverage: Coverage.from({ [source]: known?.ran ?? [] }) };
  }

  /** Runs the test file without a mutant, once in this process. */
  confirm(test: string): Promise<Baseline> {
    const confirmed = this.#confirmed.get(test) ?? this.#run(test);
    this.#confirmed.set(test, confirmed);
    return confirmed;
  }

  isConfirmed(test: string): boolean {
    return this.#confirmed.has(test);
  }

  async #run(test: string): Promise<Baseline> {
    // The sandbox has an empty /tmp, but shares the other mounts.
    const shared = this.#runner.canSandbox('unit') ? '/dev/shm' : tmpdir();
    await using directory = await mkdtempDisposable(join(shared, 'machineadm-coverage-'));
    const environment = { NODE_V8_COVERAGE: directory.path };
    const { end, ms } = await this.#runner.run([test], { environment, sandbox: 'unit', limitMs: LIMIT_MS });
    const baseline = { passes: end === 'passed', ms, coverage: Coverage.read(directory.path, this.#root) };
    if (baseline.passes) this.#keep(test, baseline);
    return baseline;
  }

  #recordOf(test: string): BaselineRecord | undefined {
    const path = this.#pathOf(test);
    if (!this.#records.has(test) && existsSync(path)) {
      const { data } = BaselineRecord.safeParse(JSON.parse(readFileSync(path, 'utf8')));
      if (data?.digest === this.#digestOf(this.#filesOf(test))) this.#records.set(test, data);
    }
    return this.#records.get(test);
  }

  #keep(test: string, { ms, coverage }: Baseline): void {
    const sources = Object.entries(coverage.ran()).filter(([file]) => /^(?:src|packages)\//.test(file));
    const record = {
      digest: this.#digestOf(this.#filesOf(test)),
      ms: Math.round(ms),
      sources: Object.fromEntries(sources.map(([file, ran]) => [file, { digest: this.#digestOf([file]), ran }])),
    };
    mkdirSync(dirname(this.#pathOf(test)), { recursive: true });
    writeFileSync(this.#pathOf(test), JSON.stringify(record));
  }

  #pathOf(test: string): string {
    return join(this.#root, 'node_modules/.cache/mutate/baselines', `${test.replaceAll('/', '_')}.json`);
  }

  #filesOf(test: string): readonly string[] {
    return this.#tests.closureOf(test).filter((file) => file.startsWith('test/'));
  }

  #digestOf(files: readonly string[]): string {
    const name = files.join(' ');
    const known = this.#digests.get(name);
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(process.version);
    for (const file of files) digest.update(`\0${file}\0`).update(readFileSync(join(this.#root, file)));
    const text = digest.digest('base64');
    this.#digests.set(name, text);
    return text;
  }
}
