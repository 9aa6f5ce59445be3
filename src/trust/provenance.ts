import { createHash } from 'node:crypto';
import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { preAuthentication } from './dsse.ts';
import { refusal } from './refusals.ts';
import { LIST, PROVENANCE } from './release.ts';
import { findSigner, type Signer } from './signature.ts';
import type { TrustStore } from './store.ts';

export const DSSE_PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** A Sigstore bundle v0.3 with one DSSE envelope (secure-systems-lab/dsse envelope.md) around an in-toto statement. */
const Bundle = z.object({
  mediaType: z.literal('application/vnd.dev.sigstore.bundle.v0.3+json'),
  dsseEnvelope: z.object({
    payload: z.base64(),
    payloadType: z.literal(DSSE_PAYLOAD_TYPE),
    signatures: z.tuple([z.object({ sig: z.base64() })]),
  }),
});

/**
 * Verifies the provenance of a release whose list is verified: it must be signed by a trusted key and equal the
 * statement in the list. Throws the errors of `findSigner`, and `DigestMismatch`.
 *
 * @param digests of the list
 */
export async function verifyProvenance(
  bytes: Uint8Array,
  digests: ReadonlyMap<string, string>,
  trust: TrustStore,
  now: Date,
  name: string,
): Promise<Signer> {
  const bundle = checkedJson(Bundle, Buffer.from(bytes).toString('utf8'));
  if (!bundle.ok) throw refusal('SignatureInvalid', `${name} is not a Sigstore bundle v0.3 of an in-toto statement`);
  const { payload, signatures } = bundle.value.dsseEnvelope;
  const statement = Buffer.from(payload, 'base64');
  const signature = { kind: 'der', bytes: Buffer.from(signatures[0].sig, 'base64') } as const;
  const signed = preAuthentication(statement, DSSE_PAYLOAD_TYPE);
  const signer = await findSigner(name, [signed], signature, { ...trust, threshold: 1 }, now);
  if (createHash('sha256').update(statement).digest('hex') !== digests.get(PROVENANCE)) {
    throw refusal('DigestMismatch', `${name} holds another statement than the ${PROVENANCE} that ${LIST} names`);
  }
  return signer;
}
