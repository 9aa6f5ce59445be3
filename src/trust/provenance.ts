import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { refusal } from './refusals.ts';

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

/** What is signed of a DSSE payload: the pre-authentication encoding of secure-systems-lab/dsse protocol.md. */
export function preAuthentication(payload: Uint8Array): Buffer {
  const header = `DSSEv1 ${DSSE_PAYLOAD_TYPE.length} ${DSSE_PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(header), payload]);
}

/** The statement in a bundle, and the signature over its pre-authentication encoding. Throws `SignatureInvalid`. */
export function parseProvenanceBundle(
  bytes: Uint8Array,
  name: string,
): { readonly payload: Buffer; readonly signature: Buffer } {
  const bundle = checkedJson(Bundle, Buffer.from(bytes).toString('utf8'));
  if (!bundle.ok) throw refusal('SignatureInvalid', `${name} is not a Sigstore bundle v0.3 of an in-toto statement`);
  const { payload, signatures } = bundle.value.dsseEnvelope;
  return { payload: Buffer.from(payload, 'base64'), signature: Buffer.from(signatures[0].sig, 'base64') };
}
