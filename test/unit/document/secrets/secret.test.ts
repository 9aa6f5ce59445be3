import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { format, inspect } from 'node:util';
import { RedactedParts, redact, redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';

const VALUE = 'hunter2 "quoted"/+\nsecond line of it';

describe('a secret', () => {
  const secret = new Secret(VALUE);
  test('is not shown by any conversion to text', () => {
    const texts = [
      `${secret}`,
      String(secret),
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ a: [secret] }),
      format('%o %s', secret, secret),
    ];
    for (const text of texts) assert.doesNotMatch(text, /hunter2/);
    assert.equal(secret.reveal(), VALUE);
  });

  test('is removed from text in each form in which it could leak', () => {
    const forms = [VALUE, JSON.stringify(VALUE), encodeURIComponent(VALUE), Buffer.from(VALUE).toString('base64')];
    for (const form of forms) {
      const clean = redact(`before ${form} after`);
      assert.match(clean, /^before .*\[redacted\].* after$/s);
      assert.doesNotMatch(clean, /hunter2/);
      assert.equal(clean.includes(Buffer.from(VALUE).toString('base64')), false);
    }
  });

  test('is removed from everything inside a value', () => {
    assert.deepEqual(redactDeep({ a: [`x ${VALUE}`], b: secret, c: 1 }), {
      a: ['x [redacted]'],
      b: '[redacted]',
      c: 1,
    });
  });
});

test('a part that was searched is searched again only when another secret is registered', () => {
  const parts = new RedactedParts();
  const first = parts.redact({ steps: [{ id: 'a', changes: ['said: mellon-mellon'] }], phase: 'Host' });
  const second = parts.redact({ ...first, phase: 'Kubernetes', warnings: ['token zyxwvu.0123456789abcdef'] });
  assert.equal(second.steps, first.steps);
  assert.deepEqual(second.warnings, ['token [redacted]']);
  new Secret('mellon-mellon').reveal();
  assert.deepEqual(parts.redact(second).steps, [{ id: 'a', changes: ['said: [redacted]'] }]);
});

test('text in the format of a credential is removed even if it is not registered', () => {
  assert.equal(redact('token zyxwvu.0123456789abcdef'), 'token [redacted]');
  assert.equal(redact(`--certificate-key ${'ab'.repeat(32)}`), '--certificate-key [redacted]');
  assert.equal(redact('a -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- b'), 'a [redacted] b');
});

test('the secret half of a token is removed alone, too', () => {
  new Secret('qqqqqq.1111222233334444').reveal();
  assert.equal(redact('got 1111222233334444'), 'got [redacted]');
});

test('a digest or an image name stays readable', () => {
  const text = `sha256:${'ab'.repeat(32)} k8s.gcr.io/kube-apiserver:v1.20.2`;
  assert.equal(redact(text), text);
});
