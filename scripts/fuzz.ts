import { parseArgs } from 'node:util';
import { corpusOf, defectOf, keep, shrink } from './fuzz/check.ts';
import { mutate, Random } from './fuzz/mutate.ts';
import type { FuzzTarget } from './fuzz/target.ts';
import { TARGETS } from './fuzz/targets/index.ts';

/**
 * `npm run fuzz -- --minutes N [--target NAME] [--seed N]`: feeds every parser with damaged inputs. Properties: nothing but
 * a MachineadmError is thrown, no message holds a seeded secret, no input costs more than its length. An input that breaks
 * one is kept below test/fixtures/fuzz, where the tests find it.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string', multiple: true },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const chosen = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true);
if (!(minutes > 0) || !Number.isInteger(seed) || chosen.length === 0) {
  console.error(
    `usage: npm run fuzz -- --minutes N [--target NAME] [--seed N]; targets: ${TARGETS.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

let defects = 0;
for (const target of chosen) {
  const until = Date.now() + (minutes * 60_000) / chosen.length;
  const { cases, found } = await fuzz(target, until);
  defects += found.length;
  console.log(`${target.name.padEnd(16)} ${String(cases).padStart(9)} cases  ${found.length} defects  (seed ${seed})`);
  for (const line of found) console.log(`  ${line}`);
}
process.exitCode = defects === 0 ? 0 : 1;

async function fuzz(target: FuzzTarget, until: number): Promise<{ cases: number; found: readonly string[] }> {
  const random = new Random(seed);
  const corpus = [...target.seeds, ...corpusOf(target)];
  const found: string[] = [];
  let cases = 0;
  for (let input = corpus[0] ?? ''; Date.now() < until && found.length < 5; cases++) {
    const defect = await defectOf(target, input);
    if (defect !== undefined)
      found.push(`${defect.split('\n').slice(0, 4).join(' ')} [${keep(target, await shrink(target, input))}]`);
    input = corpus[cases + 1] ?? mutate(random, corpus, target.tokens);
  }
  return { cases, found };
}
