import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import { fromBase64 } from '../inputs/secrets.ts';

/**
 * `sha256:<hex>` of the public key of a PEM certificate, as in kubeadm's caCertHashes: the digest of its
 * SubjectPublicKeyInfo (RFC 5280, 4.1.2.7; k/k cmd/kubeadm/app/util/pubkeypin). undefined where it is not a
 * certificate. Without node:crypto, because the converter also runs in browsers.
 */
export async function caCertHash(pem: string): Promise<string | undefined> {
  const body = pemBlocks(pem).find(({ label }) => label === 'CERTIFICATE')?.body;
  const der = body === undefined ? undefined : fromBase64(body);
  const key = der === undefined ? undefined : publicKeyInfo(der);
  if (key === undefined) return undefined;
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(key));
  return `sha256:${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

interface Element {
  readonly tag: number;
  /** Offsets of its content, and of the following element. */
  readonly start: number;
  readonly end: number;
}

/** Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serial, signature, issuer, validity, subject, key, … } } */
function publicKeyInfo(der: Uint8Array): Uint8Array | undefined {
  const certificate = elementAt(der, 0);
  const toBeSigned = certificate === undefined ? undefined : elementAt(der, certificate.start);
  if (toBeSigned === undefined) return undefined;
  let at = toBeSigned.start;
  const version = elementAt(der, at);
  if (version?.tag === 0xa0) at = version.end;
  for (const _field of ['serial', 'signature', 'issuer', 'validity', 'subject']) {
    const element = elementAt(der, at);
    if (element === undefined) return undefined;
    at = element.end;
  }
  const key = elementAt(der, at);
  return key?.tag === 0x30 && key.end <= toBeSigned.end ? der.subarray(at, key.end) : undefined;
}

/** One element of DER (X.690): tag, length in the short or the long form, content. */
function elementAt(der: Uint8Array, at: number): Element | undefined {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined) return undefined;
  const bytes = first < 0x80 ? 0 : first - 0x80;
  if (bytes > 4) return undefined;
  let length = bytes === 0 ? first : 0;
  for (let index = 0; index < bytes; index++) length = length * 256 + (der[at + 2 + index] ?? 0);
  const start = at + 2 + bytes;
  return start + length > der.length ? undefined : { tag, start, end: start + length };
}
