/**
 * Whether machineadm became slower by a tenth: `npm run bench:gate [-- --since REF] [--summary FILE]`. It builds the program of the
 * commit that landed last, and lets it and this one take turns at starting and at doing the work w100 (peers-work.ts), by
 * processor time. Exit status 1 when this one is slower. Nothing absolute is asked of any machine, and a busy one makes the answer
 * late, not wrong: `paired.ts` says how. Where there is nothing to compare with, that is said, and nothing fails.
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { INPUTS } from '../build/inputs.ts';
import { readOptions } from '../options.ts';
import { childSeconds, cpuSecondsOf } from './cpu.ts';
import { landedLast } from './landed.ts';
import { type Compared, compare, SLOWER } from './paired.ts';
import { inputsOf, PEER_WORKS } from './peers-work.ts';

const root = resolve(import.meta.dirname, '../..');
const LOCK = join(root, 'package-lock.json');
const MOST_PAIRS = 40;
/** For all comparisons together: what is not clear by then passes. */
const MEASURE_MS = 75_000;

/** Builds the program of a commit in a directory; in words why that cannot be done. */
function buildOf(commit: string, directory: string): { readonly binary: string } | string {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, maxBuffer: 2 ** 30 });
  if (git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`).status !== 0)
    return `there is no commit ${commit} here`;
  if (git('diff', '--quiet', commit, '--', ...INPUTS).status === 0)
    return `nothing of what the program is made of changed since ${commit}`;
  if (dependenciesOf(git('show', `${commit}:package-lock.json`).stdout) !== dependenciesOf(readFileSync(LOCK)))
    return `the dependencies of ${commit} are others than those installed here`;
  const source = join(directory, 'source');
  mkdirSync(source);
  const { status, stdout } = git('archive', '--format=tar', commit);
  if (status !== 0 || spawnSync('tar', ['-x', '-C', source], { input: stdout }).status !== 0)
    return `the files of ${commit} cannot be taken out of git`;
  linkModules(source);
  const env = { ...process.env, SOURCE_DATE_EPOCH: '0' };
  const built = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: source, encoding: 'utf8', env });
  if (built.status !== 0) return `the program of ${commit} cannot be built here: ${built.stderr.trim().slice(-200)}`;
  return { binary: join(source, 'dist/machineadm') };
}

/** What a lock pins, but for the packages of this repository. */
function dependenciesOf(lock: Uint8Array): string {
  const { packages }: { packages: Readonly<Record<string, { readonly version?: string; readonly link?: true }>> } =
    JSON.parse(new TextDecoder().decode(lock));
  const foreign = Object.entries(packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link);
  return JSON.stringify(foreign.map(([path, { version }]) => `${path} ${version}`));
}

/** What is installed here, with the packages of that source instead of ours. */
function linkModules(source: string): void {
  const [ours, theirs] = [join(root, 'node_modules'), join(source, 'node_modules')];
  mkdirSync(join(theirs, '@machineadm'), { recursive: true });
  for (const name of readdirSync(ours)) if (name !== '@machineadm') symlinkSync(join(ours, name), join(theirs, name));
  for (const name of readdirSync(join(source, 'packages')))
    symlinkSync(join(source, 'packages', name), join(theirs, '@machineadm', name));
}

/** What is compared: starting, checking a document and, where a throw-away copy of this machine can be made, a run. */
function comparisons(programs: Readonly<Record<'old' | 'new', string>>, directory: string): readonly Compared[] {
  const document = join(directory, 'init.yaml');
  writeFileSync(document, exampleDocument('InitControlPlane'), { mode: 0o600 });
  const starts: readonly Compared[] = [
    { what: 'version', seconds: (program) => cpuSecondsOf([programs[program], 'version']) },
    { what: 'validate', seconds: (program) => cpuSecondsOf([programs[program], 'validate', '-f', document]) },
  ];
  const input = join(directory, 'input');
  mkdirSync(input);
  for (const program of ['old', 'new'] as const) copyFileSync(programs[program], join(input, program));
  const w100 = PEER_WORKS.find(({ name }) => name === 'w100');
  if (w100 === undefined) throw new Error('there is no work w100');
  writeFileSync(join(input, 'bootstrap.yaml'), inputsOf(w100)['bootstrap.yaml'] ?? '', { mode: 0o600 });
  const run = (program: string) => {
    // By bash, so that what makes and removes the copy does not count.
    const script = '"$@" >/dev/null 2>&1 </dev/null || exit; times';
    const command = ['bash', '--norc', '-c', script, 'bash', `/quickstart/${program}`];
    const args = [join(root, 'scripts/quickstart/overlay.sh'), input, ...command];
    return spawnSync('sh', [...args, 'provision', '-f', '/quickstart/bootstrap.yaml'], { encoding: 'utf8' });
  };
  if (process.getuid?.() !== 0 || run('old').status !== 0) {
    console.log('speed: the work w100 is not compared: no throw-away copy of this machine can be made, or used');
    return starts;
  }
  const seconds = (program: 'old' | 'new'): number => {
    const { status, stdout } = run(program);
    if (status !== 0) throw new Error(`provision of the work w100 ended with ${status}`);
    return childSeconds(stdout);
  };
  return [...starts, { what: 'w100', seconds }];
}

/** What fails by itself is for the tests to judge. */
function attempt<Result>(work: () => Result): Result | string {
  try {
    return work();
  } catch (error) {
    return errorMessage(error);
  }
}

async function main(): Promise<number> {
  const { values } = readOptions(import.meta.filename, {
    options: { since: { type: 'string' }, summary: { type: 'string' } },
  });
  const slower: string[] = [];
  const tell = (passed: number, failed: number): number => {
    const counts = { passed, failed, skipped: passed + failed === 0 ? 1 : 0 };
    const failures = slower.map((text) => `failed in the speed gate\n  ${text}\n`).join('');
    if (values.summary !== undefined) appendFileSync(values.summary, `${JSON.stringify(counts)}\n${failures}`);
    return failed === 0 ? 0 : 1;
  };
  const since = values.since ?? landedLast(root);
  await using directory = await mkdtempDisposable(join(tmpdir(), 'machineadm-gate-'));
  const old = buildOf(since, directory.path);
  if (typeof old === 'string') {
    console.log(`speed: ${old}, so nothing was compared`);
    return tell(0, 0);
  }
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (built.status !== 0) return tell(0, 1);
  const all = comparisons({ old: old.binary, new: join(root, 'dist/machineadm') }, directory.path);
  const began = performance.now();
  for (const [index, compared] of all.entries()) {
    const until = began + (MEASURE_MS * (index + 1)) / all.length;
    const comparison = attempt(() => compare(compared, MOST_PAIRS, () => performance.now() < until));
    if (typeof comparison === 'string') {
      console.log(`speed: ${compared.what} could not be compared: ${comparison}`);
      continue;
    }
    const { what, isSlower, pairs, ratio } = comparison;
    console.log(`speed: ${what} takes ${ratio.toFixed(2)} of the processor time at ${since} (${pairs} pairs)`);
    if (!isSlower) continue;
    slower.push(`${what} became slower: surely by more than ${Math.round((SLOWER - 1) * 100)} %`);
    console.log(`speed: ${slower.at(-1)}`);
  }
  return tell(all.length - slower.length, slower.length);
}

process.exitCode = await main();
