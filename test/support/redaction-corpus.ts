import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { type SecretLine, withSecretAt } from './secret-lines.ts';

const FIXTURES = resolve(import.meta.dirname, '../fixtures/redaction');

/**
 * `tuned` is ours. The others were written by authors who had not seen the rules: `stranger` and `held-out` are the halves, by a hash of
 * each line, of the first one's. Rules were corrected after all of them, except after `third-stranger` (docs/diagnosis.md).
 */
export type Part = 'tuned' | 'stranger' | 'held-out' | 'second-stranger' | 'third-stranger';

export interface Figures {
  readonly secret: number;
  readonly caught: number;
  readonly missed: readonly string[];
  readonly innocent: number;
  readonly touched: readonly string[];
}

/** A text and the secrets in it. */
interface Labelled {
  readonly text: string;
  readonly secrets: readonly string[];
}

const KINDS: Readonly<Record<string, SecretLine['secret']>> = {
  w: 'word',
  b: 'base64',
  h: 'hex',
  l: 'letters',
  c: 'capitals',
  s: 'lower',
};

function linesOf(name: string): readonly string[] {
  return readFileSync(resolve(FIXTURES, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/** `KIND LENGTH | LINE`; the last `%` of the line is the place of a random secret of this kind and length. */
function secretLine(entry: string): SecretLine {
  const [, kind = '', length = '', line = ''] = /^(\w) (\d+) \| (.*)$/.exec(entry) ?? [];
  const secret = KINDS[kind];
  if (secret === undefined || !line.includes('%')) throw new TypeError(`not a line of the corpus: ${entry}`);
  return { line, secret, length: Number(length) };
}

/** The secrets stand beside their line, backwards, so that no file of ours looks like one with credentials. */
interface Entry {
  readonly line: string;
  readonly secret?: readonly string[];
}

function labelled(entry: string): Labelled {
  const { line, secret = [] }: Entry = JSON.parse(entry);
  const secrets = secret.map((backwards) => [...backwards].reverse().join(''));
  const text = secrets.reduce((filled, value, index) => filled.replaceAll(`⟦${index}⟧`, () => value), line);
  return { text, secrets };
}

function corpus(part: Part): { readonly secret: readonly Labelled[]; readonly innocent: readonly string[] } {
  if (part !== 'tuned') {
    return {
      secret: linesOf(`${part}-secret.jsonl`).map(labelled),
      innocent: linesOf(`${part}-innocent.jsonl`).map((entry) => labelled(entry).text),
    };
  }
  const secret = linesOf('tuned-secret.txt').map((entry) => {
    const { text, value } = withSecretAt(secretLine(entry));
    return { text, secrets: [value] };
  });
  return { secret, innocent: linesOf('tuned-innocent.txt') };
}

/** What the redactor does with one part of the labelled corpus. A secret of which half is left is missed. */
export function redactionFigures(part: Part): Figures {
  const redactor = new Redactor();
  const { secret, innocent } = corpus(part);
  const all = secret.flatMap(({ text, secrets }) => {
    const clean = redactor.redact(text);
    return secrets.map((value) => ({
      text,
      clean,
      isLeft: clean.includes(value.slice(0, Math.ceil(value.length / 2))),
    }));
  });
  const missed = all.filter(({ isLeft }) => isLeft).map(({ text, clean }) => `${text} became ${clean}`);
  const touched = innocent
    .filter((line) => redactor.redact(line) !== line)
    .map((line) => `${line} became ${redactor.redact(line)}`);
  return { secret: all.length, caught: all.length - missed.length, missed, innocent: innocent.length, touched };
}
