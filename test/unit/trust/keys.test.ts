import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseKeys } from '../../../src/trust/keys.ts';
import { loadTrust } from '../../../src/trust/trust-directory.ts';
import { newKey, otherForms } from '../../support/release.ts';

const refused = (words: RegExp) => ({ reason: 'TrustedKeyInvalid', message: words });

describe('a file of keys', () => {
  test('may hold several, each after a comment, and a day until which it is meant to be used', () => {
    const [first, second] = [newKey(), newKey()];
    const text = `The key of Example, 2026.\nnot-after: 2031-12-31\n${first.pem}\nThe next one:\n${second.pem}`;
    const keys = parseKeys(text, 'example.pem').map(({ id, notAfter, source }) => [id, notAfter, source]);
    assert.deepEqual(keys, [
      [first.keyId, '2031-12-31', 'example.pem'],
      [second.keyId, undefined, 'example.pem'],
    ]);
  });

  test('is refused with a private key in it', () => {
    assert.throws(() => parseKeys(newKey().privatePem, 'p.pem'), refused(/holds a private key/));
  });

  test('is refused with a key that not every OpenSSL can verify', () => {
    const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
    assert.throws(() => parseKeys(ed25519, 'p.pem'), refused(/is ed25519/));
    assert.throws(
      () => parseKeys(p384.export({ type: 'spki', format: 'pem' }).toString(), 'p.pem'),
      refused(/secp384r1/),
    );
  });

  test('gives one key one id, in whichever form its point is encoded', () => {
    const key = newKey();
    const pem = (base64: string) => `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`;
    const text = key.pem + otherForms(key).map(pem).join('');
    assert.deepEqual(
      parseKeys(text, 'p.pem').map(({ id }) => id),
      [key.keyId, key.keyId, key.keyId],
    );
  });

  test('is refused without a key, with a damaged one, or with a day that is none', () => {
    assert.throws(() => parseKeys('hello', 'p.pem'), refused(/no public key/));
    const damaged = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
    assert.throws(() => parseKeys(damaged, 'p.pem'), refused(/damaged/));
    assert.throws(() => parseKeys(`not-after: soon\n${newKey().pem}`, 'p.pem'), refused(/"soon" is no day/));
  });
});

describe('the directory of trust', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-trust-'));
  });
  after(() => rmSync(directory, { recursive: true }));

  test('is not needed', async () => {
    assert.deepEqual((await loadTrust([], join(directory, 'none'))).keys, []);
  });

  test('gives its keys, what it revokes and the oldest version', async () => {
    const [site, given] = [newKey(), newKey()];
    writeFileSync(join(directory, 'site.pem'), site.pem);
    writeFileSync(join(directory, 'notes.txt'), 'no key');
    writeFileSync(join(directory, 'revoked'), `# lost in March\n${given.keyId}\n`);
    writeFileSync(join(directory, 'minimum-version'), '1.4.0\n');
    const file = join(directory, 'given');
    writeFileSync(file, given.pem);
    const trust = await loadTrust([file], directory);
    assert.deepEqual(
      [trust.keys.map(({ id }) => id), [...trust.revoked], trust.minimumVersion],
      [[site.keyId, given.keyId], [given.keyId], '1.4.0'],
    );
  });

  test('is refused where others may write to a file of it', async () => {
    const path = join(directory, 'open.pem');
    writeFileSync(path, newKey().pem);
    chmodSync(path, 0o666);
    await assert.rejects(loadTrust([], directory), refused(/others than root may write/));
    rmSync(path);
  });

  test('is refused if its revocations or minimum versions cannot be parsed', async () => {
    writeFileSync(join(directory, 'minimum-version'), 'v1\n');
    await assert.rejects(loadTrust([], directory), refused(/one version/));
    writeFileSync(join(directory, 'minimum-version'), '1.4.0\n');
    writeFileSync(join(directory, 'revoked'), 'the old one\n');
    await assert.rejects(loadTrust([], directory), refused(/"the old one" is not a key ID/));
  });
});
