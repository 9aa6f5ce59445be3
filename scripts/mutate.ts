/**
 * Mutation tests: makes small changes to the sources, one at a time, and checks that a test fails:
 *
 *   npm run mutate -- src/steps/swap.ts          all mutants of named files, of a part of one (:12-30), or of directories
 *   npm run mutate -- --since HEAD~1             mutants of the lines that were changed since then
 *   npm run mutate -- --since-landed             the same since the commit that landed last
 *   npm run mutate -- --all --sample 250         a random sample of the whole project, the same for the same --seed
 *   npm run mutate -- FILE --thorough            runs survivors with every unit test that covers them
 *   npm run mutate -- FILE --integration         runs survivors with integration tests that cover them, too
 *
 * The unit tests that cover a mutant load it in place of its module, in memory; the nearest tests run first. On Linux as
 * root they run in a mount namespace with a read-only root file system and an empty /tmp, because a mutant may delete other
 * files than its original. The exit status is 1 if fewer than 85 % are killed; with --certain only if the upper end of the
 * confidence interval is below that. docs/mutation-tests.md has the details; `--generate` writes the result of a run there.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Baselines } from './mutate/baselines.ts';
import { changedLines, landedLast } from './mutate/changed-lines.ts';
import { IntegrationTests } from './mutate/integration.ts';
import { type Mutant, mutantsOf, mutated, placeOf } from './mutate/mutants.ts';
import {
  byUnitTests,
  isCertainlyBelow,
  MUTATION_TESTS,
  mutationTable,
  type Outcome,
  scoreOf,
  withLastRun,
} from './mutate/report.ts';
import { TestRunner, TimeIsUp } from './mutate/run-tests.ts';
import { sampleOf } from './mutate/sample.ts';
import { TestsByImport } from './mutate/tests-by-import.ts';
import { refusedByTypes } from './mutate/types.ts';

const root = resolve(import.meta.dirname, '..');
const SOURCES = '{src,packages/*/src}/**/*.ts';
const MIN_SCORE = 0.85;
/** Sizes of the batches of test files, cumulative: the nearest two kill most mutants, survivors run with the next four, and so on. */
const PARTS = [2, 6, 12, 24];
/** The number of test files whose coverage is checked, of those that import the module, the nearest first; all with --thorough. */
let mostCandidates = 40;
/** The batch size after the last of PARTS. */
const MAX_BATCH = 24;
const SPARE_MS = 30_000;

const runner = new TestRunner(root);
const tests = new TestsByImport(root);
const baselines = new Baselines(root, runner, tests);

/** Runs the tests with one mutant. Undefined if none kills it and a test that covers it fails here without the mutant, too. */
async function judge(mutant: Mutant, candidates: readonly string[]): Promise<Outcome | undefined> {
  let [isWhole, isRun] = [true, false];
  let part: string[] = [];
  const tryPart = async (): Promise<Outcome | undefined> => {
    while (part.length > 0) {
      let limitMs = SPARE_MS;
      for (const test of part) limitMs += 5 * (await baselines.of(test, mutant.file)).ms;
      // The durations of an earlier process may be those of a faster machine: then a timeout is tried again.
      const wereConfirmed = part.every((test) => baselines.isConfirmed(test));
      const { end, by } = await runner.run(part, { mutant, sandbox: 'unit', limitMs });
      const failed = part.filter((test) => by.startsWith(`${test}: `));
      const suspects = end === 'failed' && failed.length > 0 ? failed : part;
      if (end === 'passed') part = [];
      else if (!(await areGood(suspects))) continue;
      else if (end === 'timeout' && wereConfirmed) return { mutant, status: 'Timeout', by: '' };
      else if (end === 'failed') {
        // A failure must be repeatable: a flaky test detects nothing.
        const again = await runner.run(suspects, { mutant, sandbox: 'unit', limitMs });
        if (again.end !== 'passed') return { mutant, status: 'Killed', by };
        part = part.filter((test) => !suspects.includes(test));
      }
    }
    return undefined;
  };
  /** Whether the tests pass without the mutant. Those that fail leave the part. */
  const areGood = async (suspects: readonly string[]): Promise<boolean> => {
    for (const test of suspects) {
      if ((await baselines.confirm(test)).passes) continue;
      part = part.filter((other) => other !== test);
      isWhole = false;
    }
    return suspects.every((test) => part.includes(test));
  };
  let shown = 0;
  for (const test of candidates.slice(0, mostCandidates)) {
    const { passes, coverage } = await baselines.of(test, mutant.file);
    if (!coverage.has(mutant.file, placeOf(mutant))) continue;
    isRun = true;
    if (!passes) {
      isWhole = false;
      continue;
    }
    part.push(test);
    shown += 1;
    const isLast = shown === PARTS.at(-1);
    if (!PARTS.includes(shown) && part.length < MAX_BATCH) continue;
    const end = await tryPart();
    if (end !== undefined) return end;
    if (isLast && mostCandidates < Number.POSITIVE_INFINITY) break;
  }
  const end = await tryPart();
  if (end !== undefined) return end;
  return isWhole ? { mutant, status: isRun ? 'Survived' : 'NoCoverage', by: '' } : undefined;
}

/** Whether a mutant can be parsed. With a syntax error, the compiler would not check the types of the other mutants. */
function isProgram(mutant: Mutant): boolean {
  try {
    mutantsOf(mutant.file, mutated(readFileSync(join(root, mutant.file), 'utf8'), mutant));
    return true;
  } catch {
    return false;
  }
}

/** The lines of the files and directories in the arguments; `src/a.ts:12-30` selects a part of a file. */
function placesNamed(places: readonly string[]): ReadonlyMap<string, LineFilter> {
  const all = globSync(SOURCES, { cwd: root }).sort();
  const found = new Map<string, LineFilter>();
  for (const place of places) {
    const [, path = '', first, last = first] = /^(.*?)(?::(\d+)(?:-(\d+))?)?$/.exec(place) ?? [];
    const wanted = relative(root, resolve(path));
    const files = all.filter((file) => file === wanted || file.startsWith(`${wanted}/`));
    if (files.length === 0) throw new Error(`there is no source file at ${path}`);
    const isWanted: LineFilter = (line) => first === undefined || (line >= Number(first) && line <= Number(last));
    for (const file of files) found.set(file, isWanted);
  }
  return found;
}

type LineFilter = (line: number) => boolean;

function candidates(places: ReadonlyMap<string, LineFilter>): readonly Mutant[] {
  return [...places].flatMap(([file, isWanted]) =>
    mutantsOf(file, readFileSync(join(root, file), 'utf8')).filter(({ line }) => isWanted(line)),
  );
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      since: { type: 'string' },
      'since-landed': { type: 'boolean', default: false },
      sample: { type: 'string' },
      seed: { type: 'string', default: '1' },
      'within-seconds': { type: 'string' },
      certain: { type: 'boolean', default: false },
      least: { type: 'string', default: String(MIN_SCORE * 100) },
      integration: { type: 'boolean', default: false },
      thorough: { type: 'boolean', default: false },
      generate: { type: 'boolean', default: false },
      summary: { type: 'string' },
    },
  });
  const since = values['since-landed'] ? landedLast(root) : values.since;
  if (!values.all && since === undefined && positionals.length === 0) {
    console.error(
      'usage: npm run mutate -- (--since REF | --since-landed | --all | FILE...) [--sample N] [--seed N] [--thorough] [--integration] [--within-seconds N] [--certain] [--least PERCENT]',
    );
    return 2;
  }
  const finish = (isGood: boolean): number => {
    const counts = { passed: isGood ? 1 : 0, failed: isGood ? 0 : 1, skipped: 0 };
    if (values.summary !== undefined) appendFileSync(values.summary, `${JSON.stringify(counts)}\n`);
    return isGood ? 0 : 1;
  };

  const changed = since === undefined ? undefined : changedLines(root, since);
  if (typeof changed === 'string') {
    console.log(`mutants: ${changed}, so none was made`);
    return finish(true);
  }
  const places =
    changed === undefined
      ? placesNamed(values.all ? ['src', 'packages'] : positionals)
      : new Map([...changed].map(([file, lines]): [string, LineFilter] => [file, (line) => lines.has(line)]));
  const possible = candidates(places);
  if (values.thorough) mostCandidates = Number.POSITIVE_INFINITY;
  const size = values.sample === undefined ? possible.length : Number(values.sample);
  const drawn = sampleOf(possible, size, Number(values.seed));
  if (values['within-seconds'] !== undefined)
    runner.deadline = performance.now() + Number(values['within-seconds']) * 1_000;
  const programs = drawn.filter(isProgram);
  const refused = await refusedByTypes(root, programs);
  const chosen = programs.filter((mutant) => !refused.has(mutant));
  console.log(
    `mutants: ${drawn.length} of ${possible.length} in ${places.size} files; the compiler refuses ${drawn.length - chosen.length}`,
  );

  const outcomes: Outcome[] = [];
  const integration = values.integration ? new IntegrationTests(root, runner) : undefined;
  const waiting = [...chosen];
  const worker = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const ofUnitTests = await judge(mutant, tests.of(mutant.file));
      if (ofUnitTests === undefined) continue;
      const isLeft = ofUnitTests.status === 'Survived' || ofUnitTests.status === 'NoCoverage';
      const outcome = (isLeft ? await integration?.judge(mutant) : undefined) ?? ofUnitTests;
      outcomes.push(outcome);
      const { file, line, mutator, start, end: to, replacement } = mutant;
      const text = readFileSync(join(root, file), 'utf8');
      const change = `${text.slice(start, to).split('\n')[0]} -> ${replacement || 'nothing'}`;
      console.log(
        `${outcome.status.padEnd(10)} ${file}:${line} ${mutator}: ${change}${outcome.by && ` (${outcome.by})`}`,
      );
    }
  };
  const untilTimeIsUp = async (): Promise<void> => {
    try {
      await worker();
    } catch (error) {
      if (!(error instanceof TimeIsUp)) throw error;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, untilTimeIsUp));
  if (outcomes.length < chosen.length)
    console.log(
      `mutants: ${outcomes.length} of these ${chosen.length} were judged: the tests of the others fail here, or the time was over`,
    );
  if (outcomes.length === 0) return finish(true);
  console.log(`\n${mutationTable(outcomes)}`);
  if (integration !== undefined) console.log(`unit tests alone: ${Math.round(scoreOf(byUnitTests(outcomes)) * 100)} %`);
  if (values.generate) {
    const page = join(root, MUTATION_TESTS);
    const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' });
    const run = { possible: possible.length, seed: values.seed, date: today(), commit: stdout.trim() };
    writeFileSync(page, withLastRun(readFileSync(page, 'utf8'), outcomes, run));
  }
  const least = Number(values.least) / 100;
  const isBelowLeast = values.certain ? isCertainlyBelow(outcomes, least) : scoreOf(outcomes) < least;
  return finish(!isBelowLeast);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

process.exitCode = await main().catch((error: unknown) => {
  console.error(`mutants: ${error instanceof Error ? error.message : String(error)}`);
  return 2;
});
