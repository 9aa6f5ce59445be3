import { Redactor } from '@machineadm/document/redaction/redactor.ts';

const KEY = `-----BEGIN X KEY-----\n${'aGVsbG8gd29ybGQgaGVyZSBJIGFt'.repeat(2)}\n${'c2Vjb25kIGxpbmUgb2YgdGhlIGtl'.repeat(2)}\nqq==\n-----END X KEY-----\n`;

/** Values of secrets whose spellings differ between encodings, by what is special in them. */
export const SECRET_VALUES: Readonly<Record<string, string>> = {
  'a word': 'correct-horse',
  'quotes and signs': `p"ä's<s>&w%41+rd $x`,
  backslashes: String.raw`C:\new\table\u0041\x41`,
  'a percent-encoded one': 'a%2Fb%20c%25d',
  emoji: 'pass🔑word🔒',
  'a key': KEY,
  'many blanks': 'four words and a tab\there',
  'an entity': 'a&amp;b&#65;cdef',
};

/** A redactor that knows these values. */
export function learnt(...values: string[]): Redactor {
  const redactor = new Redactor();
  for (const value of values) redactor.learn(value);
  return redactor;
}
