/**
 * Runs the checks and the tests: `node scripts/test.ts [--summary FILE] [--slowest N] PART...`,
 * any of the parts. With files of tests after the parts (`npm test -- test/unit/seal.test.ts`) only these files are run.
 *
 * check: types, lint, format and the rules of the house (test/unit/architecture.test.ts). The other parts are the
 * directories of the same name below test/. thorough: as unit, with many inputs or a kill at every moment of a run.
 * slow: tests of programs of others, which `.ci/run` runs after `npm test`. site builds the documentation and opens it in a browser. The last line is
 * the sum over all of them; before it stand what failed, and the N that took most processor time, with that of the programs that they
 * started, but without that of daemons.
 * attacks: each attack is tried 10,000 times and the table of tries and wins is printed; `--generate` writes it to
 * docs/security-tests.md. The integration part runs the same files with 300 tries.
 * Tests that need root, namespaces or a tool that is not there skip themselves and say why.
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
import { tellMissingPrograms } from './test-packages.ts';
import { IN_MEMORY, Outcome, PLACES, type Ran, tellFailures, tellLeftovers, tellSlowest } from './test-results.ts';

const root = resolve(import.meta.dirname, '..');
const PARTS = ['check', 'unit', 'thorough', 'integration', 'slow', 'attacks', 'site', 'e2e'] as const;
type Part = (typeof PARTS)[number];

/** Of each attack, in the part of that name. */
const ATTACK_TRIES = 10_000;

/** One more than there are processors: many tests wait, for a process or for a time. */
const CONCURRENCY = availableParallelism() + 1;

const HOUSE_RULES = 'test/unit/architecture.test.ts';

/** Those that take longest begin first, so that no processor waits at the end: see `--slowest`. */
const LONG = [
  'test/slow/convert-effects.test.ts',
  'test/integration/cases.test.ts',
  'test/integration/kubernetes/first-attempts.test.ts',
  'test/slow/packages.test.ts',
  'test/slow/hooks-install.test.ts',
  'test/slow/steps/storage-growth.test.ts',
  'test/slow/translator-image.test.ts',
  'test/slow/steps/containerd-found.test.ts',
  'test/attacks/canaries.test.ts',
  'test/integration/run.test.ts',
  'test/integration/trust/download-script.test.ts',
  'test/integration/steps/images.test.ts',
  'test/integration/steps/storage-killed.test.ts',
  'test/integration/reporting/cloud-sinks.test.ts',
  'test/integration/steps/hooks.test.ts',
  'test/integration/completion.test.ts',
  'test/slow/library.test.ts',
  'test/integration/build.test.ts',
];

/** Test files that share a process. */
interface Room {
  readonly name: string;
  readonly files: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A program that judges the sources: 1 passed or 1 failed. */
interface Check {
  readonly name: string;
  /** Below node_modules, and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Beside tests its checkers would find no processor of their own, and each infers again what they share: one of them takes
 * two thirds of their time. GOGC lets the garbage of Go wait (https://go.dev/doc/gc-guide#GOGC), for 100 MB more.
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

/** Whether its output comes as it is written, or at its end: for one that runs beside another. */
type Output = 'live' | 'after';

const NOTHING: Outcome = { passed: 0, failed: 0, skipped: 0, cpuSeconds: 0, failures: [] };

function isPart(word: string): word is Part {
  return PARTS.some((part) => part === word);
}

/** The test files below a part's directory, in their order. A part without any is a mistake. */
function filesOf(part: Part, pattern = '**/*.test.ts'): string[] {
  const found = globSync(`test/${part}/${pattern}`, { cwd: root }).sort();
  if (found.length === 0) throw new Error(`there is no test file ${pattern} below test/${part}`);
  return found;
}

/** The files with an attack in them, wherever they are: they import `test/support/attacks.ts`. */
function attackFiles(): string[] {
  const files = globSync('test/{attacks,unit,thorough,integration,slow}/**/*.test.ts', { cwd: root }).sort();
  return files.filter((file) => /support\/attacks\.ts'/.test(readFileSync(join(root, file), 'utf8')));
}

/**
 * A process has one redactor. Who asks it for what it removes, and who draws values that it then removes everywhere,
 * has a process of his own: what one test draws may be a part of what another expects.
 */
const WITH_A_REDACTOR_OF_ITS_OWN =
  /'@machineadm\/document\/redaction\.ts'|'fast-check'|support\/command-line|-arbitrary\.ts'|\/conservation/;

/** Where the unit tests make their directories: in memory if there is room. They make some ten thousand files, and run some. */
function temporaryDirectory(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  if (mounts.some((mount) => mount.includes(` ${IN_MEMORY} `) && mount.includes('noexec'))) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > 2 ** 30 ? IN_MEMORY : tmpdir();
}

/** The unit tests by room. Those of a room share one process: to start one for each file takes longer than they do. */
function unitRooms(part: 'unit' | 'thorough'): readonly Room[] {
  const isAlone = (file: string) => WITH_A_REDACTOR_OF_ITS_OWN.test(readFileSync(join(root, file), 'utf8'));
  const rooms = Map.groupBy(filesOf(part), (file) => (isAlone(file) ? file : `test/${part}/${file.split('/')[2]}`));
  const env = { TMPDIR: temporaryDirectory() };
  return [...rooms].map(([name, files]) => ({ name, files, env })).sort((a, b) => b.files.length - a.files.length);
}

/** The tests in which each file has its own process: they change their environment, or start namespaces. */
function ownRooms(parts: readonly Part[]): readonly Room[] {
  const files = parts.includes('check') && !parts.includes('unit') ? [HOUSE_RULES] : [];
  // The attacks have a part of their own, with more tries.
  if (parts.includes('integration'))
    files.push(...filesOf('integration'), ...(parts.includes('attacks') ? [] : filesOf('attacks')));
  if (parts.includes('slow')) files.push(...filesOf('slow'));
  if (parts.includes('site')) files.push(...filesOf('site'));
  const place = (file: string) => (LONG.includes(file) ? LONG.indexOf(file) : LONG.length);
  return oneEach(files.sort((a, b) => place(a) - place(b)));
}

function oneEach(files: readonly string[]): readonly Room[] {
  return files.map((name) => ({ name, files: [name] }));
}

/** Runs so many rooms and checks at a time. */
async function runRooms(
  rooms: readonly (Room | Check)[],
  { beside, output }: { readonly beside: number; readonly output: Output },
): Promise<readonly Ran[]> {
  const waiting = [...rooms];
  const worker = async (): Promise<readonly Ran[]> => {
    const ran: Ran[] = [];
    for (let room = waiting.shift(); room !== undefined; room = waiting.shift()) {
      const begun = Date.now();
      const outcome = 'files' in room ? await runTests(room, output) : await runCheck(room, output);
      ran.push({ ...outcome, name: room.name, seconds: (Date.now() - begun) / 1000 });
    }
    return ran;
  };
  return (await Promise.all(Array.from({ length: beside }, worker))).flat();
}

/** One `node --test`. */
async function runTests({ files, env }: Room, output: Output): Promise<Outcome> {
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
    // A run that failed outside of any test (a file that could not be loaded, a crash) is a failure too.
    const found = existsSync(report) ? readFileSync(report, 'utf8') : '';
    const outcome = found === '' ? NOTHING : Outcome.parse(JSON.parse(found));
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

/** This very Node with such arguments; the exit code, or undefined after a signal. */
async function runNode(args: readonly string[], output: Output, env: Room['env'] = {}): Promise<unknown> {
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
 * The end-to-end cases: those with nodes one file after the other, since their deadlines are real, and beside them those
 * whose machines run a document for the host only.
 */
async function runEndToEnd(): Promise<readonly Ran[]> {
  // Both would build it otherwise.
  const built = await runRooms([BINARY], { beside: 1, output: 'live' });
  if (built.some(({ failed }) => failed > 0)) return built;
  const [nodes, hosts] = await Promise.all([
    runRooms(oneEach(filesOf('e2e', '*.test.ts')), { beside: 1, output: 'live' }),
    runRooms(oneEach(filesOf('e2e', 'host/*.test.ts')), { beside: 1, output: 'after' }),
  ]);
  return [...built, ...nodes, ...hosts];
}

/** Every attack with all its tries, one file at a time: a race needs a processor for each side. */
async function runAttacks(generate: boolean): Promise<readonly Ran[]> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-attacks-'));
  const results = join(directory, 'results');
  process.env.MACHINEADM_ATTACK_TRIES = String(ATTACK_TRIES);
  process.env.MACHINEADM_ATTACK_RESULTS = results;
  try {
    const counts = await runRooms(oneEach(attackFiles()), { beside: 1, output: 'live' });
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
  const lay = globSync(PLACES);
  if (parts.some((part) => !['check', 'unit', 'thorough'].includes(part))) tellMissingPrograms();
  if (parts.some((part) => part !== 'site') || chosen.length > 0) await prepareAgent();
  const checks = parts.includes('check') ? [TYPES, LINT] : [];
  const inOneProcess = (['unit', 'thorough'] as const).filter((part) => parts.includes(part)).flatMap(unitRooms);
  const rooms = [...checks, ...inOneProcess, ...ownRooms(parts), ...oneEach(chosen)];
  all.push(...(await runRooms(rooms, { beside: CONCURRENCY, output: rooms.length === 1 ? 'live' : 'after' })));
  if (parts.includes('attacks')) all.push(...(await runAttacks(values.generate)));
  if (parts.includes('e2e')) all.push(...(await runEndToEnd()));

  const sum = (key: 'passed' | 'failed' | 'skipped'): number => all.reduce((total, counts) => total + counts[key], 0);
  const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  if (values.summary !== undefined) appendFileSync(values.summary, `${JSON.stringify(total)}\n`);
  tellLeftovers(lay);
  tellSlowest(all, Number(values.slowest));
  tellFailures(all);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
