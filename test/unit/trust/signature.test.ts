import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { parseKeys } from '../../../src/trust/keys.ts';
import { findSigner, type Signature } from '../../../src/trust/signature.ts';
import type { TrustStore } from '../../../src/trust/store.ts';
import { newKey, type TestKey } from '../../support/release.ts';

const NOW = new Date('2026-11-20T10:00:00Z');
const CONTENT = Buffer.from('a list of digests\n');
const [FIRST, SECOND, STRANGER] = [newKey(), newKey(), newKey()];

function trusting(keys: readonly TestKey[], over: Partial<TrustStore> = {}, notAfter?: string): TrustStore {
  const day = notAfter === undefined ? '' : `not-after: ${notAfter}\n`;
  return {
    keys: keys.flatMap(({ pem }, index) => parseKeys(`${day}${pem}`, `${index + 1}.pem`)),
    revoked: new Set(),
    minimumVersion: undefined,
    threshold: 1,
    ...over,
  };
}

const encoded = async (key: TestKey, content = CONTENT) => Buffer.from(await key.sign(content)).toString('base64');
const json = (kind: 'bundle' | 'set', value: object): Signature => ({
  kind,
  bytes: Buffer.from(JSON.stringify(value)),
});
const der = async (key: TestKey): Promise<Signature> => ({ kind: 'der', bytes: await key.sign(CONTENT) });
const setOf = async (...keys: TestKey[]): Promise<Signature> =>
  json('set', { signatures: await Promise.all(keys.map(async (key) => ({ signature: await encoded(key) }))) });
const bundle = async (key: TestKey, over: object = {}, digestOf: Buffer = CONTENT): Promise<Signature> =>
  json('bundle', {
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(digestOf).digest('base64') },
      signature: await encoded(key),
    },
    ...over,
  });

/** The keys that signed, by their files, and the warnings. */
async function signers(signature: Signature, trust: TrustStore, content: Buffer = CONTENT, now = NOW) {
  const { key, keys, warnings } = await findSigner('LIST', [content], signature, trust, now);
  assert.equal(key, keys[0]);
  return { keys: keys.map(({ source }) => source), warnings };
}

describe('the keys that signed a file', () => {
  const both = trusting([FIRST, SECOND]);

  test('are found by verifying, for each form of a signature', async () => {
    for (const signature of [await der(SECOND), await bundle(SECOND), await setOf(STRANGER, SECOND)])
      assert.deepEqual(await signers(signature, both), { keys: ['2.pem'], warnings: [] }, signature.kind);
    assert.deepEqual((await signers(await setOf(SECOND, FIRST), both)).keys, ['1.pem', '2.pem']);
  });

  test('are the same when the file is read in pieces', async () => {
    const pieces = [CONTENT.subarray(0, 5), CONTENT.subarray(5)];
    const { key } = await findSigner('LIST', pieces, await bundle(FIRST), both, NOW);
    assert.equal(key.id, FIRST.keyId);
  });

  test('may be past their last day, with a warning that begins a day later', async () => {
    const trust = trusting([FIRST, SECOND], {}, '2026-11-20');
    assert.deepEqual(await signers(await der(FIRST), trust), { keys: ['1.pem'], warnings: [] });
    const tomorrow = new Date('2026-11-21T00:00:00Z');
    assert.deepEqual((await signers(await setOf(FIRST, SECOND), trust, CONTENT, tomorrow)).warnings, [
      `the signing key ${FIRST.keyId} (1.pem) expired on 2026-11-20; ask its publisher for the next one`,
      `the signing key ${SECOND.keyId} (2.pem) expired on 2026-11-20; ask its publisher for the next one`,
    ]);
  });

  test('count once each, whatever many files hold a key, and without the revoked ones', async () => {
    const twice = trusting([FIRST, FIRST, SECOND], { threshold: 2 });
    assert.deepEqual((await signers(await setOf(FIRST, SECOND), twice)).keys, ['1.pem', '3.pem']);
    await assert.rejects(signers(await setOf(FIRST), twice), {
      reason: 'TooFewSignatures',
      message: 'LIST is signed with 1 of the 2 keys demanded',
      evidence: [{ source: '1.pem', text: `signed with the key ${FIRST.keyId}` }],
    });
    const revoked = trusting([FIRST, SECOND], { revoked: new Set([FIRST.keyId]) });
    assert.deepEqual((await signers(await setOf(FIRST, SECOND), revoked)).keys, ['2.pem']);
  });

  test('are reported as revoked where no other key signed', async () => {
    const trust = trusting([FIRST, SECOND], { revoked: new Set([FIRST.keyId]) });
    await assert.rejects(signers(await der(FIRST), trust), {
      reason: 'SigningKeyRevoked',
      message: 'LIST is signed with a key that was revoked',
      evidence: [{ source: '1.pem', text: `the key ${FIRST.keyId}` }],
    });
  });

  test('are unknown for a stranger and for another file, with the trusted keys as evidence', async () => {
    const refused = {
      reason: 'SignatureInvalid',
      message: 'the signature of LIST was not made by a trusted key, or is of another file',
      evidence: [FIRST, SECOND].map(({ keyId }, index) => ({
        source: `${index + 1}.pem`,
        text: `the trusted key ${keyId}`,
      })),
    };
    await assert.rejects(signers(await der(STRANGER), both), refused);
    await assert.rejects(signers(await der(FIRST), both, Buffer.from('another file')), refused);
    await assert.rejects(signers({ kind: 'der', bytes: Buffer.from('no DER') }, both), refused);
  });

  test('cannot be found where no key is trusted', async () => {
    await assert.rejects(signers(await der(FIRST), trusting([])), {
      reason: 'TrustedKeyInvalid',
      message: 'LIST cannot be verified: no key is trusted',
    });
  });
});

describe('a file of signatures', () => {
  const trust = trusting([FIRST]);
  const cases: readonly (readonly [string, () => Promise<Signature>, RegExp])[] = [
    [
      'a bundle for another file',
      () => bundle(FIRST, {}, Buffer.from('other')),
      /^the bundle of LIST belongs to another file$/,
    ],
    [
      'a bundle of another version',
      () => bundle(FIRST, { mediaType: 'v0.1' }),
      /^the bundle of LIST is not a Sigstore bundle v0\.3/,
    ],
    ['a bundle without a signature', () => bundle(FIRST, { messageSignature: undefined }), /is not a Sigstore bundle/],
    ['a bundle that is no JSON', async () => ({ kind: 'bundle', bytes: Buffer.from('{') }), /is not a Sigstore bundle/],
    [
      'an empty set',
      async () => json('set', { signatures: [] }),
      /^the file with the signatures of LIST is not valid$/,
    ],
    ['a set of 17', async () => setOf(...Array.from({ length: 17 }, () => FIRST)), /signatures of LIST is not valid$/],
    ['a set of what is not base64', async () => json('set', { signatures: [{ signature: '!' }] }), /is not valid$/],
  ];
  for (const [what, signature, message] of cases)
    test(`is refused if it is ${what}`, async () => {
      await assert.rejects(signers(await signature(), trust), { reason: 'SignatureInvalid', message });
    });

  test('may hold 16 signatures', async () => {
    const sixteen = await setOf(...Array.from({ length: 15 }, () => STRANGER), FIRST);
    assert.deepEqual((await signers(sixteen, trust)).keys, ['1.pem']);
  });
});
