import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { costOf } from './check.ts';
import type { Random } from './random.ts';
import type { FuzzTarget } from './target.ts';

/** The maximum factor by which twice the input may cost more: 2 is linear, 4 is quadratic. */
const SUPERLINEAR = 3;
/** A shorter time depends on the clock and the garbage collector rather than on the parser. */
const MEASURABLE_MS = 4;
/** A cost at which the measurement can stop. */
const ENOUGH_MS = 200;
/** The largest input that is measured. */
const LONGEST = 128 * 1024;

const COUNT_STEPS = fileURLToPath(import.meta.resolve('./count-steps.ts'));

/** Inputs of one form and any size: a piece, repeated between a prefix and a suffix. */
interface Family {
  readonly before: string;
  readonly piece: string;
  readonly after: string;
}

/** A random family from the corpus and the tokens of the parser. */
export function anyFamily(random: Random, corpus: readonly string[], target: FuzzTarget): Family {
  const input = random.pick(corpus);
  const at = random.below(input.length + 1);
  const length = 1 + random.below(40);
  const own = () => (random.below(3) === 0 ? input.slice(at, at + length) : random.pick(target.tokens));
  const piece = random.below(2) === 0 ? own() : own() + own();
  return { before: input.slice(0, at), piece: piece === '' ? 'a' : piece, after: input.slice(at) };
}

/**
 * An input of the family that shows superlinear cost; undefined if there is none. Two successive doublings must each exceed
 * the limit. The time only suggests it, because other processes and the garbage collector use the machine as well: the number of steps
 * decides.
 *
 * @param module the URL of the module whose TARGETS have the target
 * @param time   milliseconds that the target takes for inputs
 */
export async function superlinear(
  target: FuzzTarget,
  { before, piece, after }: Family,
  module = import.meta.resolve('./targets/index.ts'),
  time: typeof costOf = costOf,
): Promise<{ readonly input: string; readonly defect: string } | undefined> {
  const sized = (count: number): string => before + piece.repeat(count) + after;
  let [previous, cost] = [0, 0];
  for (let count = 1; count * piece.length <= LONGEST; count *= 2) {
    const next = await time(target, [sized(count)]);
    const grows = previous >= MEASURABLE_MS && cost > SUPERLINEAR * previous && next > SUPERLINEAR * cost;
    if (grows && growsInSteps(target.name, [sized(count / 4), sized(count / 2), sized(count)], module)) {
      const costs = [previous, cost, next].map((ms) => Math.round(ms)).join(', ');
      return {
        input: sized(count),
        defect: `costs grow faster than the input: ${costs} ms for ${count / 4}, ${count / 2}, ${count} times ${JSON.stringify(piece)}`,
      };
    }
    if (next > ENOUGH_MS && cost > MEASURABLE_MS) return undefined;
    [previous, cost] = [cost, next];
  }
  return undefined;
}

/** Steps do not depend on the machine or its load. What built-in functions do inside does not count; expressions have a judge of their own. */
function growsInSteps(name: string, inputs: readonly string[], module: string): boolean {
  const args = ['--disable-warning=ExperimentalWarning', COUNT_STEPS, module, name];
  const options = { input: JSON.stringify(inputs), encoding: 'utf8', maxBuffer: 2 ** 26 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(`the steps of ${name} could not be counted: ${stderr}`);
  const steps = JSON.parse(stdout) as readonly number[];
  return steps.every((cost, index) => index === 0 || cost > SUPERLINEAR * (steps[index - 1] ?? 0));
}
