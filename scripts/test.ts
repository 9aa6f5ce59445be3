/**
 * Runs the checks and the tests: `node scripts/test.ts [--summary FILE] [--slowest N] PART...`,
 * any of the parts. With test files after the parts (`npm test -- test/unit/seal.test.ts`), only these files run.
 *
 * check: types, lint, format and the architecture rules (test/repository/architecture.test.ts). The other parts are the
 * directories of the same name below test/. repository: what is true of the sources, the pages and the scripts together.
 * integration: whole runs of the agent, a few seconds for each file. thorough: like
 * unit, with many inputs or a kill at every point of a run. slow: whole runs that take longer, many with third-party
 * programs. `.ci/run` runs both after `npm test`. site: builds the documentation and opens it in a browser. attacks: tries
 * each attack 10,000 times and prints the table of tries and wins; `--generate` writes it to docs/security-tests.md. The
 * other parts run the same files with 300 tries.
 *
 * The last line has the totals. Before it are the failures, the N files or groups with the most processor time, including
 * child processes without daemons, and why tests were skipped: each declares its needs (test/support/needs.ts). --summary
 * appends the totals to a file as a line of JSON, and the failures as text.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { attackTable, readAttackResults, SECURITY_TESTS, securityTestsPage } from './attack-table.ts';
import { readOptions } from './options.ts';
import { prepareAgent } from './prepare-agent.ts';
import {
  failureTexts,
  IN_MEMORY,
  LEFTOVER_PATTERNS,
  Outcome,
  printLeftovers,
  printSkipped,
  printSlowest,
  type Ran,
} from './test-results.ts';

const root = resolve(import.meta.dirname, '..');
const PARTS = ['check', 'unit', 'repository', 'thorough', 'integration', 'slow', 'attacks', 'site', 'e2e'] as const;
type Part = (typeof PARTS)[number];

/** The tries of each attack in the part `attacks`. */
const ATTACK_TRIES = 10_000;

/** Two more than the number of processors, because many tests wait for a process or a timer. */
const CONCURRENCY = availableParallelism() + 2;

const ARCHITECTURE_TEST = 'test/repository/architecture.test.ts';

/** The longest files (see `--slowest`), also those that mostly wait. They start first, so that no processor is idle at the end. */
const LONG = [
  'test/slow/convert-effects.test.ts',
  'test/slow/cases.test.ts',
  'test/slow/kubernetes/first-attempts.test.ts',
  'test/slow/packages.test.ts',
  'test/slow/hooks-install.test.ts',
  'test/slow/features/storage-growth.test.ts',
  'test/slow/translator-image.test.ts',
  'test/slow/features/containerd-found.test.ts',
  'test/slow/reporting/delivery.test.ts',
  'test/slow/trust/download-script.test.ts',
  'test/slow/trust/fetch.test.ts',
  'test/slow/features/images.test.ts',
  'test/slow/features/hooks.test.ts',
  'test/integration/run.test.ts',
  'test/integration/features/files-sources.test.ts',
  'test/slow/features/storage.test.ts',
  'test/slow/features/storage-killed.test.ts',
  'test/slow/reporting/cloud-sinks.test.ts',
  'test/slow/canaries.test.ts',
  'test/slow/library.test.ts',
  'test/slow/completion.test.ts',
  'test/slow/build.test.ts',
  'test/slow/fuzz.test.ts',
];

/** Test files that share a process. */
interface TestGroup {
  readonly name: string;
  readonly files: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A program that checks the sources. It counts as one passed or one failed test. */
interface Check {
  readonly name: string;
  /** The script, relative to node_modules, and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * tsc runs with one checker thread: the tests use the other processors, and several checkers repeat shared work, so that one
 * needs a third less processor time. GOGC reduces garbage collection (https://go.dev/doc/gc-guide#GOGC) for 100 MB more.
 */
const TYPES: Check = {
  name: 'types (tsc)',
  command: [
    'typescript/bin/tsc',
    '--noEmit',
    '--singleThreaded',
    '--incremental',
    '--tsBuildInfoFile',
    'node_modules/.cache/types.tsbuildinfo',
  ],
  env: { GOGC: '400' },
};
const LINT: Check = { name: 'lint and format (biome)', command: ['@biomejs/biome/bin/biome', 'check', '.'] };
const BINARY: Check = { name: 'the binary', command: ['../scripts/build.ts'] };

/** Whether output is printed immediately, or when the process exits, so that the output of concurrent processes is not mixed. */
type Output = 'live' | 'after';

const NOTHING: Outcome = { passed: 0, failed: 0, skipped: 0, cpuSeconds: 0, failures: [], skips: [] };

function isPart(word: string): word is Part {
  return PARTS.some((part) => part === word);
}

/** The sorted test files in the directory of a part. Throws if there are none. */
function filesOf(part: Part, pattern = '**/*.test.ts'): string[] {
  const found = globSync(`test/${part}/${pattern}`, { cwd: root }).sort();
  if (found.length === 0) throw new Error(`there is no test file ${pattern} below test/${part}`);
  return found;
}

/** The test files with attacks, in all parts: they import `test/support/attacks.ts`. */
function attackFiles(): string[] {
  const files = globSync('test/{attacks,unit,repository,thorough,integration,slow}/**/*.test.ts', { cwd: root }).sort();
  return files.filter((file) => /support\/attacks\.ts'/.test(readFileSync(join(root, file), 'utf8')));
}

/**
 * Files that cannot share the process of their directory, by what they import, with the name of their group; without one each
 * has a process of its own. A process has one redactor: a random value of one test may be part of the expected output of another,
 * and a query sees what others have added. A counter of steps sees only the modules that are loaded after it. What runs whole
 * command lines loads a copy of the program.
 */
const APART: readonly (readonly [RegExp, string?])[] = [
  [/support\/steps\.ts'|\/property\.ts'|-arbitrary\.ts'|\/conservation/],
  [/support\/command-line\.ts'/, 'command lines'],
  [/'@machineadm\/document\/redaction\/process-redactor\.ts'/, 'the redactor'],
];

/** The temporary directory of the unit tests: in memory if there is space. They create some ten thousand files and execute some. */
function temporaryDirectory(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  if (mounts.some((mount) => mount.includes(` ${IN_MEMORY} `) && mount.includes('noexec'))) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > 2 ** 30 ? IN_MEMORY : tmpdir();
}

/** The parts whose files share processes. */
const SHARED = ['unit', 'repository', 'thorough'] as const;

/**
 * The directories of unit tests whose files share a process; all others share one more. To load the modules of the agent takes up
 * to two seconds, and only tests of the same process share that.
 */
const UNIT_PROCESSES: readonly (readonly string[])[] = [
  ['features'],
  ['convert', 'document', 'translator'],
  ['diagnosis', 'kubernetes'],
  ['host'],
  ['reporting'],
];

/** Groups the tests of such a part by directory. A group shares one process, because starting one per file takes longer than the tests. */
function sharedGroups(part: (typeof SHARED)[number]): readonly TestGroup[] {
  const groupOf = (file: string): string => {
    const text = readFileSync(join(root, file), 'utf8');
    const apart = APART.find(([pattern]) => pattern.test(text));
    if (apart !== undefined) return apart[1] ?? file;
    const directory = file.split('/')[2] ?? '';
    if (part !== 'unit') return `test/${part}/${directory}`;
    const together = UNIT_PROCESSES.find((names) => names.includes(directory)) ?? ['other directories'];
    return `test/unit: ${together.join(', ')}`;
  };
  const groups = Map.groupBy(filesOf(part), groupOf);
  const env = { TMPDIR: temporaryDirectory() };
  return [...groups].map(([name, files]) => ({ name, files, env })).sort((a, b) => b.files.length - a.files.length);
}

/** The tests with one process per file: they change their environment, or create namespaces. */
function separateFiles(parts: readonly Part[]): readonly TestGroup[] {
  const files = parts.includes('check') && !parts.includes('repository') ? [ARCHITECTURE_TEST] : [];
  // The attacks have a part of their own, with more tries.
  if (parts.includes('integration'))
    files.push(...filesOf('integration'), ...(parts.includes('attacks') ? [] : filesOf('attacks')));
  if (parts.includes('slow')) files.push(...filesOf('slow'));
  if (parts.includes('site')) files.push(...filesOf('site'));
  const place = (file: string) => (LONG.includes(file) ? LONG.indexOf(file) : LONG.length);
  return oneEach(files.sort((a, b) => place(a) - place(b)));
}

function oneEach(files: readonly string[]): readonly TestGroup[] {
  return files.map((name) => ({ name, files: [name] }));
}

/** Runs groups and checks, `concurrency` of them concurrently. */
async function runGroups(
  groups: readonly (TestGroup | Check)[],
  { concurrency, output }: { readonly concurrency: number; readonly output: Output },
): Promise<readonly Ran[]> {
  const waiting = [...groups];
  const worker = async (): Promise<readonly Ran[]> => {
    const ran: Ran[] = [];
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const begun = Date.now();
      const outcome = 'files' in group ? await runTests(group, output) : await runCheck(group, output);
      ran.push({ ...outcome, name: group.name, seconds: (Date.now() - begun) / 1000 });
    }
    return ran;
  };
  return (await Promise.all(Array.from({ length: concurrency }, worker))).flat();
}

/** Runs a group with `node --test`. */
async function runTests({ files, env }: TestGroup, output: Output): Promise<Outcome> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-test-'));
  const report = join(directory, 'summary.json');
  try {
    const status = await runNode(
      [
        '--test',
        '--test-isolation=none',
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        `--test-reporter=${join(root, 'scripts/test-summary.ts')}`,
        `--test-reporter-destination=${report}`,
        ...files,
      ],
      output,
      env,
    );
    // A run that failed outside of any test (a file that could not be loaded, a crash), or that ended before it had a result,
    // is a failure too.
    const found = existsSync(report) ? readFileSync(report, 'utf8') : '';
    if (found === '') return { ...NOTHING, failed: 1 };
    const outcome = Outcome.parse(JSON.parse(found));
    return { ...outcome, failed: status !== 0 && outcome.failed === 0 ? 1 : outcome.failed };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function runCheck({ name, command: [script, ...args], env }: Check, output: Output): Promise<Outcome> {
  const status = await runNode([join('node_modules', script), ...args], output, env);
  console.log(`${status === 0 ? '✔' : '✖'} ${name}`);
  return { ...NOTHING, passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1 };
}

/** Runs this Node with arguments. Returns the exit code, or null after a signal. */
async function runNode(args: readonly string[], output: Output, env: TestGroup['env'] = {}): Promise<unknown> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: output === 'live' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  const held: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => held.push(data));
  const [status]: unknown[] = await once(child, 'close');
  process.stdout.write(Buffer.concat(held));
  return status;
}

/**
 * Runs the end-to-end tests. Those with nodes run one file at a time, because their deadlines are real. Those with documents
 * for the host only run concurrently with them.
 */
async function runEndToEnd(): Promise<readonly Ran[]> {
  // Built first, because otherwise both would build it.
  const built = await runGroups([BINARY], { concurrency: 1, output: 'live' });
  if (built.some(({ failed }) => failed > 0)) return built;
  const [nodes, hosts] = await Promise.all([
    runGroups(oneEach(filesOf('e2e', '*.test.ts')), { concurrency: 1, output: 'live' }),
    runGroups(oneEach(filesOf('e2e', 'host/*.test.ts')), { concurrency: 1, output: 'after' }),
  ]);
  return [...built, ...nodes, ...hosts];
}

/** Runs every attack with all tries, one file at a time: a race needs a processor for each side. */
async function runAttacks(generate: boolean): Promise<readonly Ran[]> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-attacks-'));
  const results = join(directory, 'results');
  process.env.MACHINEADM_ATTACK_TRIES = String(ATTACK_TRIES);
  process.env.MACHINEADM_ATTACK_RESULTS = results;
  try {
    const counts = await runGroups(oneEach(attackFiles()), { concurrency: 1, output: 'live' });
    const found = readAttackResults(results);
    console.log(`\n${attackTable(found)}`);
    if (generate) writeFileSync(join(root, SECURITY_TESTS), securityTestsPage(found));
    return counts;
  } finally {
    delete process.env.MACHINEADM_ATTACK_TRIES;
    delete process.env.MACHINEADM_ATTACK_RESULTS;
    rmSync(directory, { recursive: true });
  }
}

async function main(): Promise<number> {
  const { values, positionals } = readOptions(import.meta.filename, {
    allowPositionals: true,
    options: {
      summary: { type: 'string' },
      slowest: { type: 'string', default: '10' },
      generate: { type: 'boolean', default: false },
    },
  });
  const chosen = positionals.filter((word) => word.endsWith('.test.ts'));
  const unknown = positionals.filter((word) => !isPart(word) && !chosen.includes(word));
  if (unknown.length > 0 || positionals.length === 0) {
    console.error(
      `usage: node scripts/test.ts [--summary FILE] [--slowest N] [--generate] PART... [FILE.test.ts...]   (parts: ${PARTS.join(', ')})`,
    );
    return 2;
  }
  const parts = chosen.length > 0 ? [] : PARTS.filter((part) => positionals.includes(part));
  const all: Ran[] = [];
  const existing = globSync(LEFTOVER_PATTERNS);
  if (parts.some((part) => part !== 'site') || chosen.length > 0) await prepareAgent();
  const checks = parts.includes('check') ? [TYPES, LINT] : [];
  const inOneProcess = SHARED.filter((part) => parts.includes(part)).flatMap(sharedGroups);
  const groups = [...checks, ...inOneProcess, ...separateFiles(parts), ...oneEach(chosen)];
  all.push(...(await runGroups(groups, { concurrency: CONCURRENCY, output: groups.length === 1 ? 'live' : 'after' })));
  if (parts.includes('attacks')) all.push(...(await runAttacks(values.generate)));
  if (parts.includes('e2e')) all.push(...(await runEndToEnd()));

  const sum = (key: 'passed' | 'failed' | 'skipped'): number => all.reduce((total, counts) => total + counts[key], 0);
  const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  const failures = failureTexts(all);
  if (values.summary !== undefined) appendFileSync(values.summary, [JSON.stringify(total), ...failures, ''].join('\n'));
  printLeftovers(existing);
  printSlowest(all, Number(values.slowest));
  for (const text of failures) console.log(`\n${text}`);
  printSkipped(all);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
