/**
 * Runs the checks and the tests: `node scripts/test.ts [--summary FILE] check unit integration e2e`, any of the parts.
 *
 * check: types, lint, format and the rules of the house (test/unit/architecture.test.ts). The other parts are the
 * directories of the same name below test/, all run by one `node --test`, so that its counts are the last lines.
 * Tests that need root, namespaces or a tool that is not there skip themselves and say why.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { installTestPackages } from './test-packages.ts';

const root = resolve(import.meta.dirname, '..');
const PARTS = ['check', 'unit', 'integration', 'e2e'] as const;
type Part = (typeof PARTS)[number];

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

/** The test files of the parts, in their order. A part without any is a mistake. */
function testFiles(parts: readonly Part[]): string[] {
  const files: string[] = [];
  for (const part of parts) {
    if (part === 'check') continue;
    const found = globSync(`test/${part}/**/*.test.ts`, { cwd: root }).sort();
    if (found.length === 0) throw new Error(`there is no test file below test/${part}`);
    files.push(...found);
  }
  if (parts.includes('check') && !files.includes(HOUSE_RULES)) files.unshift(HOUSE_RULES);
  return files;
}

function runTests(files: readonly string[]): Counts {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-test-'));
  const report = join(directory, 'summary.json');
  try {
    const { status } = spawnSync(
      process.execPath,
      [
        '--test',
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        `--test-reporter=${join(root, 'scripts/test-summary.ts')}`,
        `--test-reporter-destination=${report}`,
        ...files,
      ],
      { cwd: root, stdio: 'inherit' },
    );
    const counts = Counts.parse(JSON.parse(readFileSync(report, 'utf8')));
    // A run that failed outside of any test (a file that could not be loaded, a crash) is a failure too.
    return status !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function main(): number {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { summary: { type: 'string' } } });
  const unknown = positionals.filter((word) => !isPart(word));
  if (unknown.length > 0 || positionals.length === 0) {
    console.error(`usage: node scripts/test.ts [--summary FILE] PART...   (parts: ${PARTS.join(', ')})`);
    return 2;
  }
  const parts = PARTS.filter((part) => positionals.includes(part));
  const all: Counts[] = [];
  if (parts.includes('check')) {
    all.push(check('types (tsc)', 'typescript/bin/tsc', ['--noEmit']));
    all.push(check('lint and format (biome)', '@biomejs/biome/bin/biome', ['check', '.']));
  }
  if (parts.includes('integration') || parts.includes('e2e')) installTestPackages();
  all.push(runTests(testFiles(parts)));

  const sum = (key: keyof Counts): number => all.reduce((total, counts) => total + counts[key], 0);
  const total: Counts = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  if (values.summary !== undefined) appendFileSync(values.summary, `${JSON.stringify(total)}\n`);
  const failedChecks = all.slice(0, -1).filter((counts) => counts.failed > 0).length;
  if (failedChecks > 0) console.error(`${failedChecks} of the checks before the tests failed; see above`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = main();
