import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { namesIn, othersMayRead, placeVerified, readSmallFile } from '../host/local-files/release-files.ts';
import { remembered } from './follow-roots.ts';
import { keyId, parseKeys, spkiOf, type TrustedKey } from './keys.ts';
import { extendTrustMemory, readTrustMemory } from './memory.ts';
import {
  bytesToSign,
  parseRoot,
  ROOT,
  ROOT_LIMIT,
  type RootContent,
  unsignedRoot,
  verifyNext,
  verifyRoot,
  withSignature,
} from './root.ts';
import { newestRoot } from './root-chain.ts';
import { expiryOfRoot } from './root-expiry.ts';
import type { TrustRoot } from './store.ts';
import { loadTrust, refusePlainKeys, revokedKeys } from './trust-directory.ts';

/** What a new root is made of. What is undefined is as in the root before it. */
export interface RootWish {
  readonly name: string | undefined;
  readonly before: TrustRoot | undefined;
  /** Files of the keys that sign lists, and how many must. */
  readonly keys: readonly string[] | undefined;
  readonly threshold: number | undefined;
  /** Files of the keys that sign the next root; in a first root, those that sign lists. */
  readonly rootKeys: readonly string[] | undefined;
  readonly rootThreshold: number | undefined;
  /** In milliseconds from now; undefined in a first root: it does not expire. */
  readonly validMs: number | undefined;
}

/** Reads a root. Throws `DownloadInvalid` where there is none, and as `parseRoot`. */
export async function readRoot(path: string): Promise<TrustRoot> {
  return parseRoot(Buffer.from(await small(path)).toString('utf8'), path);
}

/** Makes the next version of a root, or a first one, without signatures. Throws `DownloadInvalid`, and as `parseRoot`. */
export async function makeRoot(wish: RootWish, now: Date): Promise<TrustRoot> {
  const { before, validMs = validMsOf(before), name = before?.name } = wish;
  if (name === undefined) throw usage('a first root needs --name');
  if (before !== undefined && name !== before.name) throw usage(`the root before it has the name "${before.name}"`);
  const lists = (await keysIn(wish.keys)) ?? before?.lists.keys;
  if (lists === undefined) throw usage('a first root needs --key');
  const root = (await keysIn(wish.rootKeys)) ?? before?.root.keys ?? lists;
  const content: RootContent = {
    apiVersion: 'machineadm.dev/trust-root/v1',
    kind: 'TrustRoot',
    name,
    version: (before?.version ?? 0) + 1,
    createdAt: now.toISOString(),
    ...(validMs === undefined ? {} : { expiresAt: new Date(now.getTime() + validMs).toISOString() }),
    root: { threshold: wish.rootThreshold ?? before?.root.threshold ?? 1, keys: root.map(spkiText) },
    lists: { threshold: wish.threshold ?? before?.lists.threshold ?? 1, keys: lists.map(spkiText) },
  };
  return unsignedRoot(content);
}

/** How long a root was to be valid. */
function validMsOf(root: TrustRoot | undefined): number | undefined {
  return root?.expiresAt === undefined ? undefined : root.expiresAt.getTime() - root.createdAt.getTime();
}

/** Writes a root, completely or not at all. Throws `FileError`. */
export async function writeRoot(path: string, { text }: TrustRoot): Promise<void> {
  await placeVerified(path, pieces(text), () => {});
}

/** Signs a root with a private key in a PEM file that only its owner may read. Throws `TrustedKeyInvalid`. */
export async function signWithFile(root: TrustRoot, path: string): Promise<{ root: TrustRoot; keyId: string }> {
  if (await othersMayRead(path)) throw unusableKey(path, 'other users may read it', `chmod 600 ${path}`);
  let key: KeyObject;
  try {
    key = createPrivateKey(Buffer.from(await small(path)));
  } catch (error) {
    if (error instanceof MachineadmError) throw error;
    throw unusableKey(path, `it is not a private key without a passphrase (${errorMessage(error)})`);
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw unusableKey(path, 'it is not ECDSA P-256');
  const id = keyId(createPublicKey(key));
  return { root: withSignature(root, id, sign('sha256', bytesToSign(root), { key, dsaEncoding: 'der' })), keyId: id };
}

/**
 * Adds a signature (DER) over `bytesToSign` that a KMS or a token made. The key is found among those of the root and of
 * the given files. Throws `SignatureInvalid`, `TrustedKeyInvalid`.
 */
export async function withSignatureIn(
  root: TrustRoot,
  path: string,
  keyFiles: readonly string[],
): Promise<{ root: TrustRoot; keyId: string }> {
  const signature = await small(path);
  const keys = [...root.root.keys, ...((await keysIn(keyFiles)) ?? [])];
  const signer = keys.find(({ key }) => verify('sha256', bytesToSign(root), { key, dsaEncoding: 'der' }, signature));
  if (signer === undefined) {
    throw new MachineadmError({
      reason: 'SignatureInvalid',
      summary: `${path} is not a signature of this root by one of its keys or of those of --key`,
      remedy: 'Sign the bytes of --bytes with ECDSA P-256 over SHA-256, and give the signature as DER.',
    });
  }
  return { root: withSignature(root, signer.id, signature), keyId: signer.id };
}

/**
 * Installs roots into a trust directory, in their order: the first one where there is none, and only what follows
 * otherwise. One that is installed already changes nothing. Throws the errors of `verifyNext`, `newestRoot` and
 * `loadTrust`, `SignatureExpired`, `FileError`.
 */
export async function installRoots(
  paths: readonly string[],
  directory: string,
  memoryPath: string,
  now: Date,
): Promise<{ readonly root: TrustRoot; readonly changed: boolean; readonly warnings: readonly string[] }> {
  const names = await namesIn(directory);
  refusePlainKeys(names, [], directory);
  const revoked = await revokedKeys(names, directory);
  const trusted = names.includes(ROOT) ? (await loadTrust([], directory, memoryPath)).roots?.chain : undefined;
  const before = trusted?.at(-1);
  let current = before;
  const verified = [...(trusted ?? [])];
  for (const path of paths) {
    const next = await readRoot(path);
    // The newest of the memory, where there is no root in the directory, was trusted all the same.
    if (current === undefined) {
      const chain = await newestRoot(next, await readTrustMemory(memoryPath), revoked, path);
      verified.push(...chain);
      current = chain.at(-1) ?? next;
    } else if (next.sha256 !== current.sha256) {
      await verifyNext(current, next, revoked, path);
      verified.push(next);
      current = next;
    }
  }
  if (current === undefined) throw usage('name a root to install');
  await verifyRoot(current, revoked, ROOT);
  const warnings = expiryOfRoot(current, now);
  const isThere = trusted?.[0].sha256 === current.sha256;
  if (!isThere) await writeRoot(join(directory, ROOT), current);
  await extendTrustMemory(memoryPath, { roots: remembered(verified) });
  return { root: current, changed: !isThere, warnings };
}

async function keysIn(paths: readonly string[] | undefined): Promise<readonly TrustedKey[] | undefined> {
  if (paths === undefined) return undefined;
  const texts = await Promise.all(paths.map(small));
  return texts.flatMap((bytes, index) => parseKeys(Buffer.from(bytes).toString('utf8'), paths[index] ?? ''));
}

function spkiText({ key }: TrustedKey): string {
  return spkiOf(key).toString('base64');
}

async function small(path: string): Promise<Uint8Array> {
  const bytes = await readSmallFile(path, ROOT_LIMIT, () => usage(`${path} is too large for what it should be`));
  if (bytes === undefined) throw usage(`there is no file ${path}`);
  return bytes;
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function unusableKey(path: string, why: string, remedy = 'Use an ECDSA P-256 key in PEM.'): MachineadmError {
  return new MachineadmError({ reason: 'TrustedKeyInvalid', summary: `${path} cannot sign: ${why}`, remedy });
}

function usage(problem: string): MachineadmError {
  return new MachineadmError({
    reason: 'DownloadInvalid',
    summary: problem,
    remedy: 'See machineadm trust --help.',
  });
}
