import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { KnownValues } from '@machineadm/document/redaction/known-values.ts';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { attack } from '../../../support/attacks.ts';
import { ENCODINGS } from '../../../support/encodings.ts';

const KEY = `-----BEGIN X KEY-----\n${'aGVsbG8gd29ybGQgaGVyZSBJIGFt'.repeat(2)}\n${'c2Vjb25kIGxpbmUgb2YgdGhlIGtl'.repeat(2)}\nqq==\n-----END X KEY-----\n`;

const VALUES: Readonly<Record<string, string>> = {
  'a word': 'correct-horse',
  'quotes and signs': `p"ä's<s>&w%41+rd $x`,
  backslashes: String.raw`C:\new\table\u0041\x41`,
  'a percent-encoded one': 'a%2Fb%20c%25d',
  emoji: 'pass🔑word🔒',
  'a key': KEY,
  'many blanks': 'four words and a tab\there',
  'an entity': 'a&amp;b&#65;cdef',
};

const learnt = (...values: string[]): Redactor => {
  const redactor = new Redactor();
  for (const value of values) redactor.learn(value);
  return redactor;
};

describe('a registered value', () => {
  test('is found by the beginning of a long one in UTF-16, which has no zero byte there', () => {
    const known = new KnownValues();
    known.learn(`${'鍵'.repeat(3000)}ab`);
    const cut = Buffer.from('鍵'.repeat(2500), 'utf16le');
    assert.deepEqual(known.find(cut), [{ start: 0, end: cut.length }]);
  });

  for (const [what, value] of Object.entries(VALUES)) {
    for (const { name, encode } of ENCODINGS) {
      test(
        `(${what}) is removed as ${name}`,
        attack('Known secrets', 'a known secret in another encoding', () => {
          const text = encode(value);
          const clean = learnt(value).redact(`before: ${text} :after`);
          assert.match(clean, /^before: .*\[redacted\].* :after$/s);
          // What is left of its spelling: quotes, and digits of base64 that belong to neighbours as well.
          const left = clean.slice('before: '.length, -' :after'.length).replaceAll('[redacted]', '');
          assert.ok(left.length <= 12 || text.length - left.length >= value.length * 0.8, left);
          for (const part of value.match(/[\w-]{6,}/g) ?? []) assert.ok(!clean.includes(part), clean);
          return 1;
        }),
      );
    }
  }

  test('is removed where it was truncated, when it is long', () => {
    const value = randomBytes(6000).toString('hex');
    assert.equal(learnt(value).redact(`x ${value.slice(0, 9000)} y`), 'x [redacted] y');
  });

  test('with half a surrogate pair is removed and crashes nothing', () => {
    const value = 'lone\ud800surrogate';
    assert.equal(learnt(value).redact(`x ${value} y`), 'x [redacted] y');
    assert.equal(learnt(value).redact(`x ${JSON.stringify(value)} y`), 'x "[redacted]" y');
  });

  test('is removed next to other letters', () => {
    assert.equal(learnt('tröstlich').redact('ä🔑 tröstlich ö🔑'), 'ä🔑 [redacted] ö🔑');
  });

  test('is removed together with another that overlaps it', () => {
    assert.equal(learnt('abcdefgh', 'efghijkl').redact('-abcdefghijkl-'), '-[redacted]-');
  });

  test('that is shorter than six characters is not searched for', () => {
    assert.equal(learnt('short').redact('a short text'), 'a short text');
  });

  test('does not remove words that only resemble it', () => {
    const text = 'the correct horse, correcthorse and correct_horse';
    assert.equal(learnt('correct-horse').redact(text), text);
  });

  test('is found in nested encodings, between bytes that are not text', () => {
    const inner = Buffer.from('a password: correct-horse-battery').toString('base64');
    const around = (before: number, after: number): string =>
      Buffer.concat([Buffer.alloc(before, 0x01), Buffer.from(inner), Buffer.alloc(after, 0x01)]).toString('base64');
    for (const [before, after] of [
      [0, 0],
      [9, 0],
      [0, 9],
      [9, 9],
    ] as const) {
      const known = new KnownValues();
      known.learn('correct-horse-battery');
      assert.equal(known.find(Buffer.from(around(before, after))).length, 1, `${before} ${after}`);
    }
  });

  test('can be registered at any time', () => {
    const redactor = new Redactor();
    for (let count = 0; count < 40; count += 1) {
      const value = randomBytes(12).toString('base64');
      assert.ok(count === 0 || !redactor.redact(`x`).includes('[redacted]'));
      redactor.learn(value);
      assert.equal(redactor.redact(`a: ${value}`), 'a: [redacted]');
    }
  });
});

/** Texts that make searches with backtracking slow: each resembles the beginning of something again and again. */
const HOSTILE: readonly string[] = [
  'a.',
  'Environment=A=',
  'abcdefgh',
  '\\',
  '%25',
  '\\u0041',
  '&#x26;',
  'http://',
  'http://a?a=b&',
  '?aaaaaaaa',
  'user:word',
  '@',
  'token="',
  'token: ',
  "secret: \\'",
  'password',
  'password: <',
  'password: /',
  '--token ',
  'auth=',
  'eyJeyJ',
  'eyJhbGciOiJIUzI1NiJ9.',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN CERTIFICATE-----',
  '-----BEGIN ',
  'bearer ',
  '+ echo a | ',
  '+ echo a\n+ passwd\n',
  'chpasswd ',
  'chpasswd <<E\n',
  'chpasswd:\n  a:bcde\n',
  'passwd <<< a ',
  'a:b1@',
  'a:b@tcp(',
  'kind: Secret data: {',
  'kind: Secret\ndata:\n  a: bcd\n',
  'key hexdump(len=1): 00 ',
  'PublicKey = AAAAbbbb1111CCCCdddd2222 ',
  'vault kv put a b=c ',
  'ConvertTo-SecureString "a',
  'Kennwort a b ',
  'U2VudGVuY2VzIG9mIHdvcmRzIHNheSBub3RoaW5nLiBUaGV5IGVuZC4= ',
  'certificate key ',
  '$2a$',
  'sk-',
  'ghp_',
  'AKIA',
  'K10',
  'aB3',
  'AAAA',
  '0123456789abcdef',
  '"',
  "'",
  ' ',
  '\n',
  'é',
  '\0',
];

describe('the work for a text', () => {
  const redactor = learnt(...Object.values(VALUES), 'a'.repeat(5000), 'ab'.repeat(30), 'AAAAAAAA');
  /** The CPU time in microseconds, the best of three: other programs run beside the test. */
  const spent = (text: string): number =>
    Math.min(
      ...[1, 2].map(() => {
        const begun = process.cpuUsage();
        redactor.redact(text);
        return process.cpuUsage(begun).user;
      }),
    );

  for (const part of HOSTILE) {
    test(
      `grows with its length and no faster: ${JSON.stringify(part)}`,
      attack('Hostile texts', 'a text that makes the redactor slow', () => {
        const text = part.repeat(Math.ceil(12_000 / part.length));
        // Quadratic work is 64 times as much for eight times the length.
        assert.ok(spent(text.repeat(8)) < 32 * Math.max(spent(text), 3_000));
        redactor.redact(text);
        assert.ok(redactor.work < 80 * text.length + 2 ** 21, `${redactor.work} for ${text.length}`);
        return 1;
      }),
    );
  }

  test('is bounded for encodings inside each other: what is too deep is removed unread', () => {
    let text = 'the secret is correct-horse, and this is said again. '.repeat(40);
    for (let depth = 0; depth < 12; depth += 1) text = Buffer.from(text).toString('base64').slice(0, 400_000);
    const clean = redactor.redact(text);
    assert.ok(redactor.work < 80 * text.length + 2 ** 21);
    assert.equal(clean, '[redacted]');
  });
});
