import { spawn } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { keyId, parseKeys } from '../../src/trust/keys.ts';

/** Signs with ECDSA P-256 over SHA-256. */
export interface ReleaseSigner {
  readonly keyId: string;
  /** The signature in DER. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/**
 * A signer with a private key in a PEM file, or with a command (a KMS, a token) that reads the bytes from stdin and prints
 * the signature in DER or base64. Each signature is verified with the public key.
 */
export async function signerOf(wish: {
  readonly key: string | undefined;
  readonly command: string | undefined;
  readonly publicKey: string | undefined;
}): Promise<ReleaseSigner> {
  if (wish.key !== undefined && wish.command === undefined && wish.publicKey === undefined) {
    return fromFile(wish.key);
  }
  if (wish.key === undefined && wish.command !== undefined && wish.publicKey !== undefined) {
    const { command } = wish;
    const [key, ...others] = parseKeys(await readFile(wish.publicKey, 'utf8'), wish.publicKey);
    if (key === undefined || others.length > 0) throw new Error(`${wish.publicKey} must contain exactly one key`);
    return verified(key.key, (bytes) => runSigner(command, bytes));
  }
  throw new Error('give --key FILE, or --signer COMMAND and --public-key FILE');
}

async function fromFile(path: string): Promise<ReleaseSigner> {
  if (((await stat(path)).mode & 0o077) !== 0) throw new Error(`${path} may be read by others: chmod 600 ${path}`);
  const key = createPrivateKey(await readFile(path));
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(
      `${path} is not an ECDSA P-256 key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`,
    );
  }
  return verified(createPublicKey(key), async (bytes) => sign('sha256', bytes, { key, dsaEncoding: 'der' }));
}

function verified(publicKey: KeyObject, signBytes: (bytes: Uint8Array) => Promise<Uint8Array>): ReleaseSigner {
  return {
    keyId: keyId(publicKey),
    async sign(bytes) {
      const signature = await signBytes(bytes);
      if (!verify('sha256', bytes, { key: publicKey, dsaEncoding: 'der' }, signature)) {
        throw new Error('the signature of the signer does not verify with its public key');
      }
      return signature;
    },
  };
}

async function runSigner(command: string, bytes: Uint8Array): Promise<Uint8Array> {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  child.stdin.end(bytes);
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`the signer ended with ${status}`);
  const printed = Buffer.concat(pieces);
  const text = printed.toString('latin1').trim();
  // A DER signature contains bytes that are not base64 characters.
  return /^[A-Za-z0-9+/\s]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : printed;
}

/** A Sigstore bundle v0.3 over `bytes`: `cosign verify-blob --key K --bundle F --insecure-ignore-tlog FILE` accepts it. */
export function sigstoreBundle(bytes: Uint8Array, signature: Uint8Array, hint: string): string {
  const digest = createHash('sha256').update(bytes).digest('base64');
  return `${JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint } },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest },
      signature: Buffer.from(signature).toString('base64'),
    },
  })}\n`;
}
