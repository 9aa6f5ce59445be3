/**
 * Runs the checks and the tests: `node scripts/test.ts [--summary FILE] check unit integration attacks e2e`, any of the
 * parts. With files of tests after the parts (`npm test -- test/unit/seal.test.ts`) only these files are run.
 *
 * check: types, lint, format and the rules of the house (test/unit/architecture.test.ts). The other parts are the
 * directories of the same name below test/. The last line is the sum over all of them.
 * attacks: each attack is tried 10,000 times and the table of tries and wins is printed; `--generate` writes it to
 * docs/security-tests.md. The integration part runs the same files with 300 tries.
 * Tests that need root, namespaces or a tool that is not there skip themselves and say why.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { attackTable, readAttackResults, SECURITY_TESTS, securityTestsPage } from './attack-table.ts';
import { bundle } from './build/bundle.ts';
import { tellMissingPrograms } from './test-packages.ts';

const root = resolve(import.meta.dirname, '..');
const PARTS = ['check', 'unit', 'integration', 'attacks', 'e2e'] as const;
type Part = (typeof PARTS)[number];

/** Of each attack, in the part of that name. */
const ATTACK_TRIES = 10_000;

const CONCURRENCY = Math.max(2, availableParallelism());

const HOUSE_RULES = 'test/unit/architecture.test.ts';

const Counts = z.object({ passed: z.int(), failed: z.int(), skipped: z.int() });
type Counts = z.infer<typeof Counts>;

function isPart(word: string): word is Part {
  return PARTS.some((part) => part === word);
}

/** Runs a program of node_modules with this very Node; 1 passed or 1 failed. */
function check(name: string, script: string, args: readonly string[]): Counts {
  const { status } = spawnSync(process.execPath, [join('node_modules', script), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  console.log(`${status === 0 ? '✔' : '✖'} ${name}`);
  return { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0 };
}

/** The test files below a part's directory, in their order. A part without any is a mistake. */
function filesOf(part: Part, pattern = '**/*.test.ts'): string[] {
  const found = globSync(`test/${part}/${pattern}`, { cwd: root }).sort();
  if (found.length === 0) throw new Error(`there is no test file ${pattern} below test/${part}`);
  return found;
}

/** The files with an attack in them, wherever they are: they import `test/support/attacks.ts`. */
function attackFiles(): string[] {
  const files = globSync('test/{attacks,unit,integration}/**/*.test.ts', { cwd: root }).sort();
  return files.filter((file) => /support\/attacks\.ts'/.test(readFileSync(join(root, file), 'utf8')));
}

/**
 * A process has one redactor. Who asks it for what it removes, and who draws values that it then removes everywhere,
 * has a process of his own: what one test draws may be a part of what another expects.
 */
const WITH_A_REDACTOR_OF_ITS_OWN = /'@machineadm\/document\/redaction\.ts'|'fast-check'|-arbitrary\.ts'|\/conservation/;

/** The unit tests by room. Those of a room share one process: to start one for each file takes longer than they do. */
function unitRooms(): readonly (readonly string[])[] {
  const isAlone = (file: string) => WITH_A_REDACTOR_OF_ITS_OWN.test(readFileSync(join(root, file), 'utf8'));
  const rooms = Map.groupBy(filesOf('unit'), (file) => (isAlone(file) ? file : file.split('/')[2]));
  return [...rooms.values()].sort((a, b) => b.length - a.length);
}

/** Runs the unit tests of a few rooms at a time. */
async function runUnitTests(): Promise<readonly Counts[]> {
  const waiting = [...unitRooms()];
  const worker = async (): Promise<readonly Counts[]> => {
    const counts: Counts[] = [];
    for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
      const room = await runTests(files, { isolation: 'none', output: 'after' });
      process.stdout.write(room.held);
      counts.push(room);
    }
    return counts;
  };
  return (await Promise.all(Array.from({ length: CONCURRENCY }, worker))).flat();
}

/** The tests in which each file has its own process: they change their environment, or start namespaces. */
function isolatedFiles(parts: readonly Part[]): string[] {
  const files = parts.includes('check') && !parts.includes('unit') ? [HOUSE_RULES] : [];
  if (!parts.includes('integration')) return files;
  // The attacks have a part of their own, with more tries.
  return [...files, ...filesOf('integration'), ...(parts.includes('attacks') ? [] : filesOf('attacks'))];
}

/**
 * Makes of the sources what the tests start as the agent, some thousand times: bundled as for the binary, and compiled into
 * a cache, it starts in two thirds of the time. The cache is whole from the beginning, so that no test finds it written to.
 */
async function prepareAgent(): Promise<void> {
  process.env.NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compiled');
  const agent = join(root, 'node_modules/.cache/agent/machineadm.cjs');
  mkdirSync(dirname(agent), { recursive: true });
  await bundle(join(root, 'src/main.ts'), agent, { commit: 'unknown' });
  process.env.MACHINEADM_TEST_AGENT = agent;
  spawnSync(process.execPath, [agent, 'version'], { cwd: root, stdio: 'ignore' });
  const sources = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: root }).filter(
    (file) => file !== 'src/main.ts',
  );
  const script = sources.map((file) => `await import(${JSON.stringify(join(root, file))});`).join('\n');
  spawnSync(process.execPath, ['--input-type=module', '-'], {
    cwd: root,
    input: script,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
}

/** One `node --test`. `output: 'after'` holds its output back until it ends: for one that runs beside another. */
async function runTests(
  files: readonly string[],
  {
    concurrency = 1,
    output = 'live',
    isolation = 'process',
  }: {
    readonly concurrency?: number;
    readonly output?: 'live' | 'after';
    readonly isolation?: 'process' | 'none';
  },
): Promise<Counts & { readonly held: Buffer }> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-test-'));
  const report = join(directory, 'summary.json');
  try {
    const child = spawn(
      process.execPath,
      [
        '--test',
        `--test-isolation=${isolation}`,
        ...(isolation === 'process' ? [`--test-concurrency=${concurrency}`] : []),
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        `--test-reporter=${join(root, 'scripts/test-summary.ts')}`,
        `--test-reporter-destination=${report}`,
        ...files,
      ],
      { cwd: root, stdio: output === 'live' ? 'inherit' : ['ignore', 'pipe', 'pipe'] },
    );
    const held: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => held.push(data));
    const [status]: unknown[] = await once(child, 'close');
    const counts = Counts.parse(JSON.parse(readFileSync(report, 'utf8')));
    // A run that failed outside of any test (a file that could not be loaded, a crash) is a failure too.
    const failed = status !== 0 && counts.failed === 0 ? 1 : counts.failed;
    return { ...counts, failed, held: Buffer.concat(held) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * The end-to-end cases: those with nodes one file after the other, since their deadlines are real, and beside them those
 * whose machines run a document for the host only.
 */
async function runEndToEnd(): Promise<readonly Counts[]> {
  // Both would build it otherwise.
  const built = check('the binary', '../scripts/build.ts', []);
  if (built.failed > 0) return [built];
  const [nodes, hosts] = await Promise.all([
    runTests(filesOf('e2e', '*.test.ts'), {}),
    runTests(filesOf('e2e', 'host/*.test.ts'), { output: 'after' }),
  ]);
  process.stdout.write(hosts.held);
  return [built, nodes, hosts];
}

/** Every attack with all its tries, one file at a time: a race needs a processor for each side. */
async function runAttacks(generate: boolean): Promise<Counts> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-attacks-'));
  const results = join(directory, 'results');
  process.env.MACHINEADM_ATTACK_TRIES = String(ATTACK_TRIES);
  process.env.MACHINEADM_ATTACK_RESULTS = results;
  try {
    const counts = await runTests(attackFiles(), {});
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
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { summary: { type: 'string' }, generate: { type: 'boolean', default: false } },
  });
  const chosen = positionals.filter((word) => word.endsWith('.test.ts'));
  const unknown = positionals.filter((word) => !isPart(word) && !chosen.includes(word));
  if (unknown.length > 0 || positionals.length === 0) {
    console.error(
      `usage: node scripts/test.ts [--summary FILE] [--generate] PART... [FILE.test.ts...]   (parts: ${PARTS.join(', ')})`,
    );
    return 2;
  }
  const parts = chosen.length > 0 ? [] : PARTS.filter((part) => positionals.includes(part));
  const all: Counts[] = [];
  if (parts.includes('check')) {
    all.push(check('types (tsc)', 'typescript/bin/tsc', ['--noEmit']));
    all.push(check('lint and format (biome)', '@biomejs/biome/bin/biome', ['check', '.']));
  }
  if (parts.some((part) => part !== 'check' && part !== 'unit')) tellMissingPrograms();
  await prepareAgent();
  if (parts.includes('unit')) all.push(...(await runUnitTests()));
  const files = [...isolatedFiles(parts), ...chosen];
  if (files.length > 0) all.push(await runTests(files, { concurrency: CONCURRENCY }));
  if (parts.includes('attacks')) all.push(await runAttacks(values.generate));
  if (parts.includes('e2e')) all.push(...(await runEndToEnd()));

  const sum = (key: keyof Counts): number => all.reduce((total, counts) => total + counts[key], 0);
  const total: Counts = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  if (values.summary !== undefined) appendFileSync(values.summary, `${JSON.stringify(total)}\n`);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
