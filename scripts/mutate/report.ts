import type { Mutant } from './mutants.ts';

/** The result for a mutant, with Stryker's names. */
export interface Outcome {
  readonly mutant: Mutant;
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage';
  /** The test that killed it; "" where none did. */
  readonly by: string;
}

/** Where a whole run is published. */
export const MUTATION_TESTS = 'docs/mutation-tests.md';

/** The share of mutants that the tests detect. A timeout counts as detected. */
export function scoreOf(outcomes: readonly Outcome[]): number {
  return outcomes.length === 0 ? 1 : detected(outcomes) / outcomes.length;
}

/** The results of the unit tests alone. */
export function byUnitTests(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.map((one) =>
    /^test\/(?:integration|attacks)\//.test(one.by) ? { ...one, status: 'Survived', by: '' } : one,
  );
}

function detected(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
}

/** Whether the score is below `least` with confidence: compares the upper end of the 95 % Wilson score interval. */
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

/** The parameters of a run, with which it can be repeated. */
export interface RunParameters {
  readonly possible: number;
  readonly seed: string;
  /** `2026-11-22` */
  readonly date: string;
  readonly commit: string;
}

/** Replaces the result in the page of the mutation tests with that of this run. */
export function withLastRun(
  page: string,
  outcomes: readonly Outcome[],
  { possible, seed, date, commit }: RunParameters,
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
