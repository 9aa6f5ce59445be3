import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { TOKEN_SHAPES } from '@machineadm/document/redaction/token-shapes.ts';
import { attack } from '../../../support/attacks.ts';
import { PLAIN_LINES, SECRET_LINES, withSecret } from '../../../support/secret-lines.ts';

const redactor = new Redactor();

describe('a secret that is not registered', () => {
  for (const line of SECRET_LINES) {
    test(
      `is removed from ${JSON.stringify(line.line)}`,
      attack('Undeclared secrets', 'a common line with an undeclared secret, in a log, a status or a bundle', () => {
        for (let count = 0; count < 20; count += 1) {
          const { text, value } = withSecret(line);
          const clean = redactor.redact(text);
          assert.ok(!clean.includes(value), `${text} became ${clean}`);
          assert.ok(!clean.includes(value.slice(0, Math.ceil(value.length / 2))), `${text} became ${clean}`);
          if (/^[\w ]+[ =:]/.test(line.line)) assert.notEqual(clean, '[redacted]');
        }
        return 20;
      }),
    );
  }

  test('is removed in the middle of a log', () => {
    for (const line of SECRET_LINES) {
      const { text, value } = withSecret(line);
      assert.ok(!redactor.redact(`one line\n${text}\nand another\n`).includes(value), text);
    }
  });

  test('is removed without the text around it', () => {
    assert.equal(
      redactor.redact('curl -H "Authorization: Bearer abcdefgh12" https://api.example.com/v1'),
      'curl -H "Authorization: [redacted]" https://api.example.com/v1',
    );
    assert.equal(redactor.redact('x http://user:word@proxy:3128/y'), 'x http://[redacted]@proxy:3128/y');
  });
});

describe('a line without a secret', () => {
  for (const line of PLAIN_LINES) test(`stays as it is: ${line}`, () => assert.equal(redactor.redact(line), line));

  test('is not changed by being redacted again', () => {
    for (const line of SECRET_LINES) {
      const once = redactor.redact(withSecret(line).text);
      assert.equal(redactor.redact(once), once);
    }
  });
});

test('values in the query of a URL are removed, except those of harmless parameters of Kubernetes, numbers and truth values', () => {
  const query = (text: string): string => redactor.redact(`GET https://api.example/x?${text} 200`);
  for (const plain of [
    'limit=all&fieldSelector=metadata.name%3Da',
    'resourceVersionMatch=Exact',
    'page=12',
    'deep=true',
    'deep=false',
  ])
    assert.equal(query(plain), `GET https://api.example/x?${plain} 200`);
  assert.equal(
    query('sig=abc&watch=x&code=yes'),
    'GET https://api.example/x?sig=[redacted]&watch=x&code=[redacted] 200',
  );
  assert.equal(query('number=1234567890'), 'GET https://api.example/x?number=[redacted] 200');
});

test('a certificate stays, the key beside it does not', () => {
  const body = 'MIIDazCCAlOgAwIBAgIUF1x7aB3dE5fG7hI9jK1lM3nO5pQwDQYJKoZIhvcNAQEL';
  const certificate = `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
  assert.equal(redactor.redact(certificate), certificate);
  assert.equal(redactor.redact(`${certificate}${body}`), `${certificate}[redacted]`);
});

test('every shape of a token has a bounded length', () => {
  for (const [issuer, pattern] of Object.entries(TOKEN_SHAPES)) {
    assert.doesNotMatch(pattern.replaceAll(/\[[^\]]*\]/g, 'x').replaceAll('\\+', ''), /[*+]|\{\d+,\}/, issuer);
    assert.doesNotThrow(() => new RegExp(pattern), issuer);
  }
});
