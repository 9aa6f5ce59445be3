import { createHash, createVerify } from 'node:crypto';
import * as z from 'zod';
import { MachineadmError } from '../document/errors.ts';
import type { TrustedKey } from './keys.ts';
import { refusal } from './refusals.ts';
import type { TrustStore } from './store.ts';

/** How a file is signed: DER, as `openssl dgst -sign` writes it, or in a Sigstore bundle. */
export type Signature =
  | { readonly kind: 'der'; readonly bytes: Uint8Array }
  | { readonly kind: 'bundle'; readonly bytes: Uint8Array };

export interface Signer {
  readonly key: TrustedKey;
  /** What does not forbid the use of the file and should be known. */
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

/**
 * Who signed these bytes. A revoked key is told apart from a stranger's; one past its day is believed with a warning,
 * because a key that expires must not be what keeps machines from starting, and the clock of a first boot is wrong.
 *
 * Throws `SignatureInvalid`, `SigningKeyRevoked`, and `TrustedKeyInvalid` where there is no key to verify by.
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
      remedy: 'Name the public key of the publisher with --key, or put it into /etc/machineadm/trust.d as NAME.pem.',
    });
  }
  const verifiers = trust.keys.map((key) => ({ key, verifier: createVerify('sha256') }));
  const hash = createHash('sha256');
  for await (const piece of content) {
    hash.update(piece);
    for (const { verifier } of verifiers) verifier.update(piece);
  }
  const der = signature.kind === 'der' ? signature.bytes : fromBundle(name, signature.bytes, hash.digest());
  const signers = verifiers.filter(({ key, verifier }) => verifier.verify({ key: key.key, dsaEncoding: 'der' }, der));
  const good = signers.find(({ key }) => !trust.revoked.has(key.id));
  if (good !== undefined) return { key: good.key, warnings: expiry(good.key, now) };
  const [revoked] = signers;
  if (revoked !== undefined) {
    throw refusal('SigningKeyRevoked', `${name} is signed with a key that was revoked`, [
      { source: revoked.key.source, text: `the key ${revoked.key.id}` },
    ]);
  }
  throw refusal('SignatureInvalid', `the signature of ${name} is of none of the trusted keys, or of another file`, [
    ...trust.keys.map(({ id, source }) => ({ source, text: `the trusted key ${id}` })),
  ]);
}

/**
 * The signature in a bundle. What a bundle says of itself binds nothing (GHSA-8gw7-4j42-w388, GHSA-whqx-f9j3-ch6m): the
 * key is picked by what is trusted and never by its hint, and its digest must be the one of the bytes at hand.
 */
function fromBundle(name: string, bytes: Uint8Array, digest: Uint8Array): Uint8Array {
  const parsed = Bundle.safeParse(jsonOf(bytes));
  if (!parsed.success)
    throw refusal('SignatureInvalid', `the bundle of ${name} is not a Sigstore bundle v0.3 with a signature`);
  const { messageDigest, signature } = parsed.data.messageSignature;
  if (!Buffer.from(messageDigest.digest, 'base64').equals(digest)) {
    throw refusal('SignatureInvalid', `the bundle of ${name} belongs to another file`);
  }
  return Buffer.from(signature, 'base64');
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

function expiry({ id, source, notAfter }: TrustedKey, now: Date): readonly string[] {
  if (notAfter === undefined || now.toISOString().slice(0, 10) <= notAfter) return [];
  return [`the signing key ${id} (${source}) expired on ${notAfter}; ask its publisher for the next one`];
}
