import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attack } from '../../support/attacks.ts';
import { learnt, SECRET_VALUES } from '../../support/secret-values.ts';

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
  const redactor = learnt(...Object.values(SECRET_VALUES), 'a'.repeat(5000), 'ab'.repeat(30), 'AAAAAAAA');
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
