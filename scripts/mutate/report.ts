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

/** The page with a whole run. */
export function mutationTestsPage(outcomes: readonly Outcome[], possible: number, seed: string): string {
  const left = outcomes.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const lines = left.map(
    ({ mutant: { file, line, mutator, replacement } }) =>
      `- \`${file}:${line}\` ${mutator}${replacement === '' ? '' : `: \`${replacement}\``}`,
  );
  return `${PAGE_HEAD}
## The last whole run

\`npm run mutate -- --all --sample ${outcomes.length} --seed ${seed} --generate\`: ${outcomes.length} of ${possible.toLocaleString('en')} mutants.

${mutationTable(outcomes)}

${lines.length === 0 ? 'None survived.' : `These survived:\n\n${lines.join('\n')}`}
`;
}

const PAGE_HEAD = `<!-- Written by "npm run mutate -- --all --generate". -->
# Mutation tests

A test that passes says little until it is known to fail when the code is wrong. \`npm run mutate\` changes the sources a
little, one change at a time (\`<\` for \`<=\`, \`false\` for a condition, an empty body for a function), and runs the unit tests
that import the changed module, the nearest first. A change that a test notices is *killed*; one that none notices
*survived*, and shows a line that could be wrong without anybody knowing.

\`\`\`text
npm run mutate -- src/steps/swap.ts           # all mutants of files or directories
npm run mutate -- --since HEAD~1              # of the lines changed since a commit
npm run mutate -- --all --sample 250 --seed 1 # so many of the whole project, the same each time
\`\`\`

The exit status is 1 below 85 %. With \`--certain\` it is 1 only where the sample is too bad for chance (the upper end of
Wilson's interval of 95 % is below 85 %): with \`--sample 20 --within-seconds 60\`, a minute for the lines of a commit. \`.ci/run\` does
not run it: the share of the whole project is not known yet.

A mutant exists in memory only: the loader of Node gives the changed module in place of the file, so that no checkout is ever
left changed. As root on Linux, where namespaces can be made, its tests run in some of their own, in which the root file system
is read-only, \`/tmp\` is an empty one, and every process ends with them: a mutant may well delete something else than its
original. Other mounts stay writable: run it on a machine that can be lost, a container for instance.

Sentences are not mutated (strings with a space, templates), nor types. Integration and end-to-end tests do not count here:
what only they notice is listed as survived.
`;
