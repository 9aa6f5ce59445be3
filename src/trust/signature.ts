import { createHash, createVerify } from 'node:crypto';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import type { TrustedKey } from './keys.ts';
import { refusal } from './refusals.ts';
import { expiryOfRoot } from './root-expiry.ts';
import type { TrustStore } from './store.ts';

/**
 * How a file is signed: DER, as `openssl dgst -sign` writes it, in a Sigstore bundle, or in a set of signatures by
 * several keys.
 */
export interface Signature {
  readonly kind: 'der' | 'bundle' | 'set';
  readonly bytes: Uint8Array;
}

export interface Signer {
  /** One of `keys`. */
  readonly key: TrustedKey;
  /** All trusted keys that signed it, at least as many as the threshold. */
  readonly keys: readonly TrustedKey[];
  /** Problems that do not forbid the use of the file. */
  readonly warnings: readonly string[];
}

/** A Sigstore bundle that names a public key (protobuf-specs sigstore_bundle.proto, v0.3). */
const Bundle = z.object({
  mediaType: z.literal('application/vnd.dev.sigstore.bundle.v0.3+json'),
  messageSignature: z.object({
    messageDigest: z.object({ algorithm: z.literal('SHA2_256'), digest: z.base64() }),
    signature: z.base64(),
  }),
});

/** `SHA256SUMS.signatures.json`. The key of each signature is determined by verifying it, not by its label. */
const SignatureSet = z.object({
  signatures: z
    .array(z.object({ signature: z.base64() }))
    .min(1)
    .max(16),
});

/**
 * Finds the keys that signed these bytes. A revoked key is distinguished from an unknown one. A key past its last day
 * is accepted with a warning: an expired key must not keep machines from starting, and the clock of a first boot is
 * often wrong.
 * Throws `SignatureInvalid`, `SigningKeyRevoked`, `TooFewSignatures`, `SignatureExpired` for the trusted root, and `TrustedKeyInvalid` where there are no keys.
 */
export async function findSigner(
  name: string,
  content: AsyncIterable<Uint8Array> | readonly Uint8Array[],
  signature: Signature,
  trust: TrustStore,
  now: Date,
): Promise<Signer> {
  if (trust.keys.length === 0) {
    throw new MachineadmError({
      reason: 'TrustedKeyInvalid',
      summary: `${name} cannot be verified: no key is trusted`,
      remedy: 'Pass the public key of the publisher with --key, or copy it to /etc/machineadm/trust.d/NAME.pem.',
    });
  }
  const root = trust.roots?.chain.at(-1);
  const warnings = root === undefined ? [] : expiryOfRoot(root, now);
  const { signatures, digest } = parseSignature(name, signature);
  const verifiers = trust.keys.map((key) => ({
    key,
    attempts: signatures.map((der) => ({ der, verifier: createVerify('sha256') })),
  }));
  const hash = createHash('sha256');
  for await (const piece of content) {
    hash.update(piece);
    for (const { attempts } of verifiers) for (const { verifier } of attempts) verifier.update(piece);
  }
  if (digest !== undefined && !hash.digest().equals(digest)) {
    throw refusal('SignatureInvalid', `the bundle of ${name} belongs to another file`);
  }
  const signers = verifiers
    .filter(({ key: { key }, attempts }) =>
      attempts.some(({ der, verifier }) => verifier.verify({ key, dsaEncoding: 'der' }, der)),
    )
    .map(({ key }) => key);
  // Several files may contain the same key.
  const good = signers.filter(
    ({ id }, index) => !trust.revoked.has(id) && signers.findIndex((other) => other.id === id) === index,
  );
  const [key] = good;
  if (key !== undefined && good.length >= trust.threshold) {
    return { key, keys: good, warnings: [...warnings, ...good.flatMap((one) => expiry(one, now))] };
  }
  const revoked = signers.find(({ id }) => trust.revoked.has(id));
  if (revoked !== undefined) {
    throw refusal('SigningKeyRevoked', `${name} is signed with a key that was revoked`, [
      { source: revoked.source, text: `the key ${revoked.id}` },
    ]);
  }
  if (key !== undefined) {
    throw refusal('TooFewSignatures', `${name} is signed with ${good.length} of the ${trust.threshold} keys demanded`, [
      ...good.map(({ id, source }) => ({ source, text: `signed with the key ${id}` })),
    ]);
  }
  throw refusal('SignatureInvalid', `the signature of ${name} was not made by a trusted key, or is of another file`, [
    ...trust.keys.map(({ id, source }) => ({ source, text: `the trusted key ${id}` })),
  ]);
}

/**
 * The signatures in DER, and for a bundle the digest that it claims. Claims of a bundle are not trusted
 * (GHSA-8gw7-4j42-w388, GHSA-whqx-f9j3-ch6m): the key is chosen among the trusted ones, not by its hint, and the digest
 * must equal that of the actual bytes.
 */
function parseSignature(
  name: string,
  { kind, bytes }: Signature,
): { readonly signatures: readonly Uint8Array[]; readonly digest?: Uint8Array } {
  if (kind === 'der') return { signatures: [bytes] };
  if (kind === 'set') {
    const set = checkedJson(SignatureSet, textOf(bytes));
    if (!set.ok) throw refusal('SignatureInvalid', `the file with the signatures of ${name} is not valid`);
    return { signatures: set.value.signatures.map((one) => Buffer.from(one.signature, 'base64')) };
  }
  const bundle = checkedJson(Bundle, textOf(bytes));
  if (!bundle.ok)
    throw refusal('SignatureInvalid', `the bundle of ${name} is not a Sigstore bundle v0.3 with a signature`);
  const { messageDigest, signature } = bundle.value.messageSignature;
  return {
    signatures: [Buffer.from(signature, 'base64')],
    digest: Buffer.from(messageDigest.digest, 'base64'),
  };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

function expiry({ id, source, notAfter }: TrustedKey, now: Date): readonly string[] {
  if (notAfter === undefined || now.toISOString().slice(0, 10) <= notAfter) return [];
  return [`the signing key ${id} (${source}) expired on ${notAfter}; ask its publisher for the next one`];
}
