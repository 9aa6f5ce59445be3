import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { publish } from '@machineadm/document/redaction/process-redactor.ts';

/** A public key that releases may be signed with. */
export interface TrustedKey {
  /** SHA-256 of the SubjectPublicKeyInfo in DER, base64: what a Sigstore bundle calls the hint. */
  readonly id: string;
  readonly key: KeyObject;
  /** The file it was read from, for messages. */
  readonly source: string;
  /** The last day without a warning: YYYY-MM-DD. */
  readonly notAfter: string | undefined;
}

const NOT_AFTER = /^[ \t]*(?:#[ \t]*)?not-after:(.*)$/im;

/**
 * The keys of a PEM file. Text before a key is allowed (RFC 7468, 5.2). A line `not-after: 2031-12-31` in it sets the
 * last day of the key's intended use. Throws `TrustedKeyInvalid`.
 */
export function parseKeys(text: string, source: string): readonly TrustedKey[] {
  const keys: TrustedKey[] = [];
  let end = 0;
  for (const { label, text: block, index } of pemBlocks(text)) {
    const notAfter = NOT_AFTER.exec(text.slice(end, index))?.[1]?.trim();
    end = index + block.length;
    if (/PRIVATE/.test(label)) {
      throw invalid(source, 'it holds a private key', 'Remove it from here; only public keys are needed to verify.');
    }
    if (label !== 'PUBLIC KEY') throw invalid(source, `it holds a ${label}`);
    if (notAfter !== undefined && !isDay(notAfter)) throw invalid(source, `not-after "${notAfter}" is no day`);
    keys.push({ ...importKey(block, source), source, notAfter });
  }
  if (keys.length === 0) throw invalid(source, 'it holds no public key');
  return keys;
}

/** SHA-256 of the SubjectPublicKeyInfo, base64. */
export function keyId(key: KeyObject): string {
  return createHash('sha256').update(spkiOf(key)).digest('base64');
}

/** SubjectPublicKeyInfo in DER. */
export function spkiOf(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

/** A key of a field that holds its SubjectPublicKeyInfo in DER as base64. Throws `TrustedKeyInvalid`. */
export function parseKey(base64: string, source: string): TrustedKey {
  const input = { key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' } as const;
  return { ...importKey(input, source), source, notAfter: undefined };
}

/** ECDSA P-256 with SHA-256: every OpenSSL since 1.0.2, its FIPS provider, Node and cosign can verify it. */
function importKey(block: Parameters<typeof createPublicKey>[0], source: string): Pick<TrustedKey, 'id' | 'key'> {
  let key: KeyObject;
  try {
    key = createPublicKey(block);
  } catch (error) {
    throw invalid(source, `a key in it is damaged (${errorMessage(error)})`);
  }
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (key.asymmetricKeyType !== 'ec' || curve !== 'prime256v1') {
    throw invalid(source, `a key in it is ${key.asymmetricKeyType} ${curve ?? ''}`.trim());
  }
  // A point can be encoded in three forms. One key in two of them must not count as two keys.
  key = createPublicKey({ key: key.export({ format: 'jwk' }), format: 'jwk' });
  const id = keyId(key);
  // Messages name keys by their id, which redaction would otherwise take for a secret.
  publish(id);
  return { id, key };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function invalid(source: string, why: string, remedy?: string): MachineadmError {
  return new MachineadmError({
    reason: 'TrustedKeyInvalid',
    summary: `${source} cannot be trusted as a key: ${why}`,
    remedy: remedy ?? 'Use the public key of an ECDSA P-256 key in PEM (openssl pkey -pubout).',
  });
}
