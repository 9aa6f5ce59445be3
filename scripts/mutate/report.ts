import type { Mutant } from './mutants.ts';

/** What became of a mutant, in Stryker's words. */
export interface Outcome {
  readonly mutant: Mutant;
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage';
  /** The test that killed it; "" where none did. */
  readonly by: string;
}

/** Where a whole run is published. */
export const MUTATION_TESTS = 'docs/mutation-tests.md';

/** The share of mutants that the tests noticed. One that never ends is noticed. */
export function scoreOf(outcomes: readonly Outcome[]): number {
  return outcomes.length === 0 ? 1 : detected(outcomes) / outcomes.length;
}

/** What the unit tests alone make of the mutants. */
export function byUnitTests(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.map((one) =>
    /^test\/(?:integration|attacks)\//.test(one.by) ? { ...one, status: 'Survived', by: '' } : one,
  );
}

function detected(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
}

/** Whether a sample shows a score below `least` that is not its luck: the upper end of Wilson's interval of 95 %. */
export function isCertainlyBelow(outcomes: readonly Outcome[], least: number): boolean {
  const [n, p, z] = [outcomes.length, scoreOf(outcomes), 1.96];
  if (n === 0) return false;
  const middle = p + (z * z) / (2 * n);
  const spread = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
  return (middle + spread) / (1 + (z * z) / n) < least;
}

/** `src/host/linux/read.ts` is of the room `host`, `packages/document/src/load.ts` of `document`. */
function roomOf({ file }: Mutant): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** A line for each room, and their sum. */
export function mutationTable(outcomes: readonly Outcome[]): string {
  const rooms = [...Map.groupBy(outcomes, ({ mutant }) => roomOf(mutant))].sort(([a], [b]) => a.localeCompare(b));
  const row = (name: string, of: readonly Outcome[]): string => {
    const count = (wanted: Outcome['status']): number => of.filter(({ status }) => status === wanted).length;
    const counts = [count('Killed'), count('Timeout'), count('Survived'), count('NoCoverage')];
    return `| ${[name, of.length, ...counts, `${Math.round(scoreOf(of) * 100)} %`].join(' | ')} |`;
  };
  return [
    '| Room | Mutants | Killed | Timeout | Survived | No test | Score |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rooms.map(([name, of]) => row(name, of)),
    row('**all**', outcomes),
  ].join('\n');
}

/** What a run was made of: the same again, from that commit. */
export interface RunOf {
  readonly possible: number;
  readonly seed: string;
  /** `2026-11-22` */
  readonly date: string;
  readonly commit: string;
}

/** The page of the mutation tests with the result of this run in the place of the one before. */
export function withLastRun(
  page: string,
  outcomes: readonly Outcome[],
  { possible, seed, date, commit }: RunOf,
): string {
  const left = outcomes.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const lines = left.map(
    ({ mutant: { file, line, mutator, replacement } }) =>
      `- \`${file}:${line}\` ${mutator}${replacement === '' ? '' : `: \`${replacement}\``}`,
  );
  return `${(page.split(LAST_RUN)[0] ?? '').trimEnd()}

${LAST_RUN}

${date}, commit ${commit}: \`npm run mutate -- --all --sample ${outcomes.length} --seed ${seed} --generate\`, ${outcomes.length} of ${possible.toLocaleString('en')} mutants.

${mutationTable(outcomes)}

${lines.length === 0 ? 'None survived.' : `These survived:\n\n${lines.join('\n')}`}
`;
}

const LAST_RUN = '## The last whole run';
