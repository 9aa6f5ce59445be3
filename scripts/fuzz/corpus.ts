import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { defectOf } from './check.ts';
import type { FuzzTarget } from './target.ts';

const CORPUS = new URL('../../test/fixtures/fuzz/', import.meta.url);

/** The inputs that showed a defect in the past. They run first, and the mutator uses them. */
export function corpusOf(target: FuzzTarget): readonly string[] {
  const directory = new URL(`${target.name}/`, CORPUS);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .sort()
    .map((name) => readFileSync(new URL(name, directory), encodingOf(target)));
}

/** Saves an input that shows a defect as a fixture. Returns its path. */
export function keep(target: FuzzTarget, input: string): string {
  const directory = new URL(`${target.name}/`, CORPUS);
  mkdirSync(directory, { recursive: true });
  const digest = createHash('sha256').update(input, encodingOf(target)).digest('hex').slice(0, 12);
  const name = `${digest}.${target.isBinary ? 'bin' : 'txt'}`;
  writeFileSync(new URL(name, directory), input, encodingOf(target));
  return `test/fixtures/fuzz/${target.name}/${name}`;
}

function encodingOf({ isBinary }: FuzzTarget): 'latin1' | 'utf8' {
  return isBinary ? 'latin1' : 'utf8';
}

/** The shortest input with the same kind of defect that is found within ten seconds. */
export async function shrink(target: FuzzTarget, input: string): Promise<string> {
  const kind = kindOf(await defectOf(target, input));
  let best = input;
  const until = Date.now() + 10_000;
  for (let size = Math.ceil(best.length / 2); size >= 1 && Date.now() < until; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.length && Date.now() < until; ) {
      const shorter = best.slice(0, at) + best.slice(at + size);
      if (kindOf(await defectOf(target, shorter)) === kind) best = shorter;
      else at += size;
    }
  }
  return best;
}

/** Groups defects by their cause: the same error at the same line of the sources. */
export function kindOf(defect: string | undefined): string | undefined {
  if (defect === undefined) return undefined;
  const [first = '', ...stack] = defect.split('\n');
  const place = stack.find((line) => /\/src\//.test(line)) ?? stack.find((line) => /^ *at /.test(line)) ?? '';
  return `${first.replace(/["'`].*|\d+/g, '')} ${place.trim()}`;
}
