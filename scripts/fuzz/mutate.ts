import type { Random } from './random.ts';
import { CANARIES, type FuzzTarget } from './target.ts';

const LONGEST = 200_000;

/** A mutated input: cut, duplicated, spliced with others, with tokens of the parser inserted, or changed within its grammar. */
export function mutate(random: Random, corpus: readonly string[], target: FuzzTarget): string {
  let input = random.pick(corpus);
  for (let change = random.below(4); change >= 0; change--) {
    const keepsGrammar = target.isGrammatical === true || random.below(2) === 0;
    const within =
      target.grammar !== undefined && keepsGrammar ? random.pick(target.grammar)(random, input) : undefined;
    if (within === undefined && target.isGrammatical === true) continue;
    input = within ?? (target.isBinary ? changedBytes : changedText)(random, input, corpus, target.tokens);
  }
  const cut = withoutDisplaced(input.slice(0, LONGEST), target);
  return target.isBinary ? cut : cut.toWellFormed();
}

/** The word before a canary: the field whose value is a secret. */
const FIELD = /([A-Za-z_]+)[^A-Za-z_]*$/;

function fieldBefore(text: string): string | undefined {
  // In a URL, the letters of a percent escape are not part of a word.
  return FIELD.exec(text.slice(-60).replace(/%[0-9A-F]{2}/gi, ' '))?.[1];
}

const fields = new WeakMap<FuzzTarget, ReadonlySet<string>>();

function fieldsOf(target: FuzzTarget): ReadonlySet<string> {
  const known = fields.get(target);
  if (known !== undefined) return known;
  const found = target.seeds.flatMap((seed) =>
    CANARIES.flatMap((canary) =>
      seed
        .split(canary)
        .slice(0, -1)
        .map((before) => fieldBefore(before) ?? ''),
    ),
  );
  const words = new Set(found);
  fields.set(target, words);
  return words;
}

/** Replaces canaries that a mutation moved to another field: there they are no secrets, and a message may quote them. */
function withoutDisplaced(input: string, target: FuzzTarget): string {
  let text = input;
  for (const canary of CANARIES) {
    for (let at = text.indexOf(canary); at >= 0; at = text.indexOf(canary, at + 1)) {
      const field = fieldBefore(text.slice(Math.max(0, at - 60), at)) ?? '';
      if (!fieldsOf(target).has(field)) text = `${text.slice(0, at)}displaced${text.slice(at + canary.length)}`;
    }
  }
  return text;
}

type Change = (random: Random, input: string, corpus: readonly string[], tokens: readonly string[]) => string;

const changedText: Change = (random, text, corpus, tokens) => {
  switch (random.below(4)) {
    case 0: {
      const lines = text.split('\n');
      const [moved = ''] = lines.splice(random.below(lines.length), 1);
      lines.splice(random.below(lines.length + 1), 0, moved);
      return lines.join('\n');
    }
    case 1: {
      const lines = text.split('\n');
      const line = random.below(lines.length);
      lines[line] = ' '.repeat(random.below(4)) + (lines[line] ?? '').replace(/^ {0,2}/, '');
      return lines.join('\n');
    }
    default:
      return changed(random, text, corpus, tokens, random.below(4) === 0 ? 0x10000 : 128);
  }
};

const changedBytes: Change = (random, bytes, corpus, tokens) => {
  const at = random.below(bytes.length + 1);
  if (random.below(3) > 0) return changed(random, bytes, corpus, tokens, 256);
  const flipped = (bytes.charCodeAt(at) || 0) ^ (1 << random.below(8));
  return bytes.slice(0, at) + String.fromCharCode(flipped) + bytes.slice(at + 1);
};

/** @param codes number of characters to choose from */
function changed(
  random: Random,
  input: string,
  corpus: readonly string[],
  tokens: readonly string[],
  codes: number,
): string {
  const at = random.below(input.length + 1);
  const [before, after] = [input.slice(0, at), input.slice(at)];
  switch (random.below(7)) {
    case 0:
      return before + random.pick(tokens) + after;
    case 1:
      return before + after.slice(1 + random.below(8));
    case 2: {
      const from = random.below(input.length + 1);
      return before + input.slice(from, from + random.below(60)) + after;
    }
    case 3: {
      const other = random.pick(corpus);
      return before + other.slice(random.below(other.length + 1));
    }
    case 4:
      return before + String.fromCharCode(random.below(codes)) + after.slice(random.below(2));
    case 5:
      return random.below(20) > 0 ? before : before + random.pick(tokens).repeat(1 + random.below(500)) + after;
    default:
      return before + after.slice(1);
  }
}
