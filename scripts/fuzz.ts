/**
 * `npm run fuzz -- --minutes N [--target NAME] [--seed N] [--record]`: runs every parser with mutated inputs. Properties:
 * a parser throws only MachineadmErrors, no message contains a secret of the seeds, and the cost is linear in the input.
 * An input that violates one is saved below test/fixtures/fuzz as a regression test. `--record` adds the figures to
 * scripts/fuzz/figures.json, and `--generate` writes them to docs/fuzzing.md.
 */
import { examine, watchErrors, watchWarnings } from './fuzz/check.ts';
import { corpusOf, keep, kindOf, shrink } from './fuzz/corpus.ts';
import { addFigures, generate } from './fuzz/figures.ts';
import { anyFamily, superlinear } from './fuzz/growth.ts';
import { mutate } from './fuzz/mutate.ts';
import { Random } from './fuzz/random.ts';
import type { FuzzTarget } from './fuzz/target.ts';
import { TARGETS } from './fuzz/targets/index.ts';
import { readOptions } from './options.ts';

/** A family of growing inputs is measured after this many cases. The other cases get this multiple of its time. */
const CASES_PER_FAMILY = 500;
const PAUSE_FACTOR = 8;
/** The maximum number of messages for which an input is added to the corpus. */
const MAX_NEW = 400;

const { values } = readOptions(import.meta.filename, {
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string', multiple: true },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    record: { type: 'boolean', default: false },
    generate: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const chosen = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true);
if (!(minutes > 0) || !Number.isInteger(seed) || chosen.length === 0) {
  console.error(
    `usage: npm run fuzz -- --minutes N [--target NAME] [--seed N] [--record] | --generate; targets: ${TARGETS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
if (values.generate) generate(TARGETS);
else process.exit(await fuzzAll().catch(failed));

async function fuzzAll(): Promise<number> {
  watchWarnings();
  watchErrors();
  let defects = 0;
  for (const target of chosen) {
    const begun = process.cpuUsage();
    const { cases, found } = await fuzz(target, Date.now() + (minutes * 60_000) / chosen.length);
    const { user, system } = process.cpuUsage(begun);
    defects += found.length;
    console.log(
      `${target.name.padEnd(20)} ${String(cases).padStart(9)} cases  ${found.length} defects  (seed ${seed})`,
    );
    for (const line of found) console.log(`  ${line}`);
    if (values.record) addFigures(target.name, { cases, seconds: (user + system) / 1e6 });
  }
  return defects === 0 ? 0 : 1;
}

/** Prints the error explicitly: `watchErrors` counts an uncaught error as a defect of a parser. */
function failed(error: unknown): number {
  console.error(error);
  return 1;
}

async function fuzz(target: FuzzTarget, until: number): Promise<{ cases: number; found: readonly string[] }> {
  const random = new Random(seed);
  const corpus = [...target.seeds, ...corpusOf(target)];
  const given = corpus.length;
  const longest = 2 * Math.max(2000, ...corpus.map(({ length }) => length));
  const said = new Set<string>();
  const kinds = new Set<string | undefined>();
  const found: string[] = [];
  const report = (defect: string, input: string): void => {
    kinds.add(kindOf(defect));
    found.push(`${defect.split('\n').slice(0, 4).join(' ')} [${keep(target, input)}]`);
  };
  let cases = 0;
  let grownUntil = 0;
  for (let input = corpus[0] ?? ''; cases === 0 || (Date.now() < until && found.length < 5); cases++) {
    const { defect, told } = await examine(target, input);
    if (defect !== undefined && !kinds.has(kindOf(defect))) report(defect, await shrink(target, input));
    const words = told.slice(0, 300).replace(/"[^"]*"|\d+/g, '');
    if (cases >= given && !said.has(words) && said.size < MAX_NEW && input.length <= longest) corpus.push(input);
    said.add(words);
    if (cases % CASES_PER_FAMILY === CASES_PER_FAMILY - 1 && Date.now() > grownUntil) {
      const begun = Date.now();
      const grown = await superlinear(target, anyFamily(random, corpus, target));
      if (grown !== undefined && !kinds.has(kindOf(grown.defect))) report(grown.defect, grown.input);
      grownUntil = Date.now() + PAUSE_FACTOR * (Date.now() - begun);
    }
    input = (cases + 1 < given ? corpus[cases + 1] : undefined) ?? mutate(random, corpus, target);
  }
  return { cases, found };
}
