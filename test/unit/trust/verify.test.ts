import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sigstoreBundle } from '../../../scripts/release/signer.ts';
import { type Proof, verifyFiles } from '../../../src/trust/verify.ts';
import { newKey, trustIn } from '../../support/release.ts';

const NOW = new Date('2026-11-20T10:00:00Z');
const KEY = newKey();
const TRUST = trustIn(KEY);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a file on the disk', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-verify-'));
  });
  after(() => rmSync(directory, { recursive: true }));
  const at = (name: string) => join(directory, name);
  const write = (name: string, content: string | Uint8Array) => {
    writeFileSync(at(name), content);
    return at(name);
  };
  const verified = async (proof: Proof, ...names: string[]) =>
    (await verifyFiles(names.map(at), proof, TRUST, NOW)).map(({ path, by, signedBy, warnings }) => [
      path,
      by,
      signedBy,
      warnings,
    ]);
  /** Writes a signed list of these files. */
  const list = async (...names: readonly string[]) => {
    const lines = Buffer.from(names.map((name) => `${sha256(name)}  ${name}\n`).join(''));
    const signature = Buffer.from(await KEY.sign(lines));
    write('SHA256SUMS', lines);
    write('SHA256SUMS.sig', signature);
    write('SHA256SUMS.sigstore.json', sigstoreBundle(lines, signature, KEY.keyId));
    const signatures = [{ keyId: KEY.keyId, signature: signature.toString('base64') }];
    write('SHA256SUMS.signatures.json', JSON.stringify({ signatures }));
  };
  beforeEach(async () => {
    for (const name of ['a', 'b']) write(name, name);
    await list('a', 'b');
  });

  test('is verified by a digest that the caller gives', async () => {
    assert.deepEqual(await verified({ sha256: sha256('a') }, 'a'), [[at('a'), 'the digest given', undefined, []]]);
    await assert.rejects(verified({ sha256: sha256('b') }, 'a'), { reason: 'DigestMismatch' });
    for (const wrong of [sha256('a').toUpperCase(), sha256('a').slice(1), `${sha256('a')}0`])
      await assert.rejects(verified({ sha256: wrong }, 'a'), {
        reason: 'DownloadInvalid',
        message: '--sha256 takes 64 lower-case hexadecimal digits',
      });
  });

  test('is verified by a signature of its own, as DER and as a bundle', async () => {
    const signature = Buffer.from(await KEY.sign(Buffer.from('a')));
    const own = write('a.sig', signature);
    const bundle = write('a.sigstore.json', sigstoreBundle(Buffer.from('a'), signature, KEY.keyId));
    assert.deepEqual(await verified({ signature: own }, 'a'), [[at('a'), own, KEY.keyId, []]]);
    assert.deepEqual(await verified({ bundle }, 'a'), [[at('a'), bundle, KEY.keyId, []]]);
    for (const proof of [{ signature: own }, { bundle }])
      await assert.rejects(verified(proof, 'b'), { reason: 'SignatureInvalid' });
  });

  test('is verified by the signed list beside it, or by one that is named', async () => {
    const expected = ['a', 'b'].map((name) => [at(name), at('SHA256SUMS'), KEY.keyId, []]);
    assert.deepEqual(await verified({}, 'a', 'b'), expected);
    assert.deepEqual(await verified({ list: at('SHA256SUMS') }, 'a', 'b'), expected);
  });

  for (const kind of ['SHA256SUMS.signatures.json', 'SHA256SUMS.sig', 'SHA256SUMS.sigstore.json'])
    test(`is verified where the list has only ${kind}`, async () => {
      for (const name of ['SHA256SUMS.signatures.json', 'SHA256SUMS.sig', 'SHA256SUMS.sigstore.json'])
        if (name !== kind) rmSync(at(name));
      assert.deepEqual(await verified({}, 'a'), [[at('a'), at('SHA256SUMS'), KEY.keyId, []]]);
      write('SHA256SUMS', `${sha256('b')}  a\n`);
      await assert.rejects(verified({}, 'a'), { reason: 'SignatureInvalid' });
    });

  test('is verified by its signature if it is the list itself, or one of its signatures', async () => {
    for (const name of ['SHA256SUMS', 'SHA256SUMS.sig', 'SHA256SUMS.signatures.json', 'SHA256SUMS.sigstore.json'])
      assert.deepEqual(await verified({}, name), [[at(name), 'its signature', KEY.keyId, []]], name);
    write('SHA256SUMS.sigstore.json', sigstoreBundle(Buffer.from('x'), await KEY.sign(Buffer.from('x')), KEY.keyId));
    await assert.rejects(verified({}, 'SHA256SUMS.sigstore.json'), { reason: 'SignatureInvalid' });
  });

  test('is refused where the list has another digest for it, or none', async () => {
    write('a', 'changed');
    await assert.rejects(verified({}, 'a'), { reason: 'DigestMismatch' });
    write('c', 'c');
    await assert.rejects(verified({}, 'c'), {
      reason: 'DigestMismatch',
      message: `${at('SHA256SUMS')} has neither c nor a program with its digest`,
      evidence: [{ source: at('c'), text: `SHA-256 ${sha256('c')}` }],
    });
  });

  test('is refused where a release is demanded and the directory holds none', async () => {
    await assert.rejects(verified({ version: '1.2.3' }, 'a'), {
      reason: 'ReleaseVersionMismatch',
      message: `${directory} holds no release, not 1.2.3`,
    });
  });

  const USAGE: readonly (readonly [string, () => Proof, readonly string[], RegExp])[] = [
    ['two proofs', () => ({ sha256: sha256('a'), list: at('SHA256SUMS') }), ['a'], /^give one of --sha256, /],
    ['a digest for two files', () => ({ sha256: sha256('a') }), ['a', 'b'], /^a digest or signature is of one file$/],
    ['a signature for two files', () => ({ signature: at('a.sig') }), ['a', 'b'], /is of one file$/],
    ['a file that is not there', () => ({}), ['gone'], /^there is no file .*gone$/],
    ['a list of another name', () => ({ list: at('a') }), ['a'], /^a list is a file of the name SHA256SUMS$/],
  ];
  for (const [what, proof, names, message] of USAGE)
    test(`cannot be verified with ${what}`, async () => {
      await assert.rejects(verified(proof(), ...names), { reason: 'DownloadInvalid', message });
    });
});
