import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { type SecretLine, withSecretAt } from './secret-lines.ts';

const FIXTURES = resolve(import.meta.dirname, '../fixtures/redaction');

/** `held-out` was written after the rules; some were corrected after its first measurement (docs/diagnosis.md). */
export type Part = 'tuned' | 'held-out';

export interface Figures {
  readonly secret: number;
  readonly caught: number;
  readonly missed: readonly string[];
  readonly innocent: number;
  readonly touched: readonly string[];
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
  return readFileSync(resolve(FIXTURES, `${name}.txt`), 'utf8')
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

/** What the redactor does with one part of the labelled corpus. A secret of which half is left is missed. */
export function redactionFigures(part: Part): Figures {
  const redactor = new Redactor();
  const secrets = linesOf(`${part}-secret`).map((entry) => withSecretAt(secretLine(entry)));
  const innocent = linesOf(`${part}-innocent`);
  const missed = secrets
    .map(({ text, value }) => ({
      text,
      half: value.slice(0, Math.ceil(value.length / 2)),
      clean: redactor.redact(text),
    }))
    .filter(({ half, clean }) => clean.includes(half))
    .map(({ text, clean }) => `${text} became ${clean}`);
  const touched = innocent
    .filter((line) => redactor.redact(line) !== line)
    .map((line) => `${line} became ${redactor.redact(line)}`);
  return { secret: secrets.length, caught: secrets.length - missed.length, missed, innocent: innocent.length, touched };
}
