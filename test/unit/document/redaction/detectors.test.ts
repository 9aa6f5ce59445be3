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

describe('what is public by its form stays, and the same form around a secret does not', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const word = 'q7Rk2Zx9Lm4Tp8Vb3Nc6Wd1';
  const pem = (kind: string): string => `-----BEGIN ${kind}-----\n${base64(word.repeat(3))}\n-----END ${kind}-----\n`;
  const sentence = 'This node is one of the worker pool. Use of it is logged.';
  const kept = (text: string): void => assert.equal(redactor.redact(text), text);
  const removed = (text: string, secret: string): void =>
    assert.ok(!redactor.redact(text).includes(secret), `${text} became ${redactor.redact(text)}`);

  test('a sentence in base64, and one that tells a password', () => {
    kept(`content: ${base64(sentence)}`);
    const told = base64(`${sentence} The password is Moor-Eule-77!`);
    removed(`content: ${told}`, told);
    const words = base64('correct horse battery staple');
    removed(`password: ${words}`, words);
  });

  test('a certificate in base64, and one with its key', () => {
    kept(`certificate-authority-data: ${base64(pem('CERTIFICATE'))}`);
    const both = base64(`${pem('CERTIFICATE')}${pem('PRIVATE KEY')}`);
    removed(`data: ${both}`, both);
  });

  test('the public key of a peer, and the private one', () => {
    const key = `${'k3Jd82hdKsl29dkfjWEoiru34oiuWERoiuwer98sdfA'.slice(0, 43)}=`;
    kept(`peer: ${key}`);
    kept(`PublicKey = ${key}`);
    removed(`PrivateKey = ${key}`, key);
    removed(key, key);
  });

  test('a mask and a reference, and what only begins like one', () => {
    for (const value of ['********', '[REDACTED]', '(sensitive value)', 'var.db_password', '24 bytes', 'DATA+OMITTED'])
      kept(`password: ${value}`);
    for (const value of ['****Moor77', 'redacted-Moor77', 'local.Hero77', '24bytesMoor'])
      removed(`password: ${value}`, value);
  });

  test('the name of a user in a URL, and a token in its place', () => {
    kept('postgresql://agent@db.example/x?sslmode=verify-full');
    removed('https://mytoken@git.example/x', 'mytoken');
    removed('postgresql://aB3xK9qLm2@db.example/x', 'aB3xK9qLm2');
    removed('https://a.example/x?state=abcdef', 'abcdef');
  });

  test('what a shell writes for a reader of secrets, and for another program', () => {
    removed("echo 'ops:Zander_See_4' | sudo chpasswd", 'Zander_See_4');
    removed('+ realm join -U joiner example\n+ echo HalloWelt77', 'HalloWelt77');
    removed('chpasswd <<EOF\nroot:Lachs-Turm-3\nops:Igel.Moos.9\nEOF', 'Igel.Moos.9');
    kept('echo HalloWelt77 | tee /var/log/x');
  });
});

test('every shape of a token has a bounded length', () => {
  for (const [issuer, pattern] of Object.entries(TOKEN_SHAPES)) {
    assert.doesNotMatch(pattern.replaceAll(/\[[^\]]*\]/g, 'x').replaceAll('\\+', ''), /[*+]|\{\d+,\}/, issuer);
    assert.doesNotThrow(() => new RegExp(pattern), issuer);
  }
});

test('commands of Windows are found in any case of their letters', () => {
  for (const line of [
    'convertto-securestring "Bramble^Pilot^3" -asplaintext -force',
    'NET USE Z: \\\\files\\boot /USER:CORP\\svc Bramble^Pilot^3',
    'REG ADD HKLM\\X /V DefaultPassword /T REG_SZ /D Bramble^Pilot^3 /F',
  ])
    assert.ok(!redactor.redact(line).includes('Bramble^Pilot^3'), line);
});
