import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { MachineadmError } from '../../src/document/errors.ts';
import { CANARIES, type FuzzTarget } from './target.ts';

/** Processor time of an input: this much for any, and so much for each character. */
const LEAST_MS = 400;
const MS_PER_CHARACTER = 100 / 100_000;
/** Who else uses the machine may cost caches and clock; a square costs hundreds of times as much. */
const TOLERANCE = 5;

/** What is wrong with how a target reads an input; undefined where nothing is. */
export async function defectOf(target: FuzzTarget, input: string): Promise<string | undefined> {
  let slow: string | undefined;
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage();
    let told: string;
    try {
      told = await target.run(input);
    } catch (error) {
      if (!(error instanceof MachineadmError)) return `threw ${error instanceof Error ? error.stack : String(error)}`;
      told = [error.message, error.remedy, ...error.evidence.map(({ text }) => text)].join('\n');
    }
    const leaked = CANARIES.find((canary) => told.includes(canary));
    if (leaked !== undefined) return `told a secret: ${told.slice(0, 500)}`;
    const { user, system } = process.cpuUsage(before);
    const spent = (user + system) / 1000;
    const budget = TOLERANCE * (LEAST_MS + input.length * MS_PER_CHARACTER);
    if (spent <= budget) return undefined;
    slow = `${Math.round(spent)} ms of processor time for ${input.length} characters`;
  }
  return slow;
}

const CORPUS = new URL('../../test/fixtures/fuzz/', import.meta.url);

/** The inputs that once were defects: they are tried first, and others are made of them. */
export function corpusOf(target: FuzzTarget): readonly string[] {
  const directory = new URL(`${target.name}/`, CORPUS);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .sort()
    .map((name) => readFileSync(new URL(name, directory), 'utf8'));
}

/** Keeps an input that showed a defect, as a fixture. */
export function keep(target: FuzzTarget, input: string): string {
  const directory = new URL(`${target.name}/`, CORPUS);
  mkdirSync(directory, { recursive: true });
  const name = `${createHash('sha256').update(input).digest('hex').slice(0, 12)}.txt`;
  writeFileSync(new URL(name, directory), input);
  return `test/fixtures/fuzz/${target.name}/${name}`;
}

/** An input that shows the same kind of defect with as little text as can be found in a short time. */
export async function shrink(target: FuzzTarget, input: string): Promise<string> {
  let best = input;
  const until = Date.now() + 10_000;
  for (let size = Math.ceil(best.length / 2); size >= 1 && Date.now() < until; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && Date.now() < until; ) {
      const shorter = best.slice(0, at) + best.slice(at + size);
      if ((await defectOf(target, shorter)) !== undefined) best = shorter;
      else at += size;
    }
  }
  return best;
}
