import { basename, dirname, join } from 'node:path';
import { type FileIdentity, fileExists, identify, piecesOf, readSmallFile } from '../host/local-files/release-files.ts';
import { DIRECTORY_MANIFEST, expiry, manifestOf } from './directory.ts';
import { releaseIn } from './mirror.ts';
import { verifyProvenance } from './provenance.ts';
import { refusal, usageOf } from './refusals.ts';
import {
  LIST,
  LIST_BUNDLE,
  LIST_SIGNATURE,
  LIST_SIGNATURES,
  MANIFEST,
  PROVENANCE_BUNDLE,
  signedSize,
  UNSIZED_LIMIT,
  type VerifiedList,
  verifyList,
} from './release.ts';
import { findSigner, type Signature } from './signature.ts';
import type { TrustStore } from './store.ts';

export interface VerifiedFile extends FileIdentity {
  readonly path: string;
  /** What proved a file: a given digest, its own signature, or a line of a signed list. */
  readonly by: string;
  /** The id of the key; undefined where a digest was given. */
  readonly signedBy: string | undefined;
  readonly warnings: readonly string[];
}

/**
 * How to verify the files; at most one of these is given. Without any, the signed SHA256SUMS beside each file is used.
 */
export interface Proof {
  readonly sha256?: string;
  /** A detached signature of the file itself: DER, or a Sigstore bundle. */
  readonly signature?: string;
  readonly bundle?: string;
  /** A SHA256SUMS; its signature is beside it. */
  readonly list?: string;
  /** The release that the list must belong to. */
  readonly version?: string;
}

const SMALL = 1024 * 1024;

/** Verifies each file and changes nothing. Throws refusals, `TrustedKeyInvalid`, `DownloadInvalid`, `FileError`. */
export async function verifyFiles(
  paths: readonly string[],
  proof: Proof,
  trust: TrustStore,
  now: Date,
): Promise<readonly VerifiedFile[]> {
  const given = [proof.sha256, proof.signature, proof.bundle, proof.list].filter((one) => one !== undefined);
  if (given.length > 1) throw usageOf('verify', 'give one of --sha256, --signature, --bundle and --list');
  if (proof.list === undefined && given.length > 0 && paths.length > 1)
    throw usageOf('verify', 'a digest or signature is of one file');
  const verified: VerifiedFile[] = [];
  for (const path of paths) verified.push(await verifyFile(path, proof, trust, now));
  return verified;
}

async function verifyFile(path: string, proof: Proof, trust: TrustStore, now: Date): Promise<VerifiedFile> {
  const found = await identify(path);
  if (found === undefined) throw usageOf('verify', `there is no file ${path}`);
  if (proof.sha256 !== undefined) {
    if (!/^[0-9a-f]{64}$/.test(proof.sha256))
      throw usageOf('verify', '--sha256 takes 64 lower-case hexadecimal digits');
    mustBe(path, found, proof.sha256);
    return { ...found, path, by: 'the digest given', signedBy: undefined, warnings: [] };
  }
  const detached = proof.signature ?? proof.bundle;
  if (detached !== undefined) {
    const signature: Signature = {
      kind: proof.bundle === undefined ? 'der' : 'bundle',
      bytes: await small(detached),
    };
    const { key, warnings } = await findSigner(path, piecesOf(path), signature, trust, now);
    return { ...found, path, by: detached, signedBy: key.id, warnings };
  }
  return byList(path, found, proof, trust, now);
}

async function byList(
  path: string,
  found: FileIdentity,
  proof: Proof,
  trust: TrustStore,
  now: Date,
): Promise<VerifiedFile> {
  const list = proof.list ?? join(dirname(path), LIST);
  const directory = dirname(list);
  if (basename(list) !== LIST) throw usageOf('verify', `a list is a file of the name ${LIST}`);
  const release = (await fileExists(join(directory, MANIFEST))) ? await releaseIn(directory, trust, now) : undefined;
  if (proof.version !== undefined && release?.manifest.version !== proof.version) {
    const holds = release === undefined ? 'no release' : `the release ${release.manifest.version}`;
    throw refusal('ReleaseVersionMismatch', `${directory} holds ${holds}, not ${proof.version}`);
  }
  const { digests, signer } = release ?? (await signedList(directory, trust, now));
  const { key } = signer;
  const warnings = [...signer.warnings, ...(release === undefined ? await ageOf(directory, digests, now) : [])];
  // The signed file is the list, and its signature has just been verified.
  if ([LIST, LIST_SIGNATURE, LIST_SIGNATURES].includes(basename(path))) {
    return { ...found, path, by: 'its signature', signedBy: key.id, warnings };
  }
  if (basename(path) === LIST_BUNDLE) {
    const bundle: Signature = { kind: 'bundle', bytes: await small(path) };
    const bundled = await findSigner(list, [await small(list)], bundle, { ...trust, threshold: 1 }, now);
    return { ...found, path, by: 'its signature', signedBy: bundled.key.id, warnings: bundled.warnings };
  }
  if (basename(path) === PROVENANCE_BUNDLE) {
    const signed = await verifyProvenance(await small(path), digests, trust, now, path);
    return { ...found, path, by: 'its signature', signedBy: signed.key.id, warnings: signed.warnings };
  }
  const digest = digests.get(basename(path));
  if (digest !== undefined) {
    mustBe(path, found, digest);
    const limit = release === undefined ? undefined : (signedSize(release.manifest, basename(path)) ?? UNSIZED_LIMIT);
    if (limit !== undefined && found.size > limit)
      throw refusal('DigestMismatch', `${path} is larger than it may be (${limit} bytes)`);
    return { ...found, path, by: list, signedBy: key.id, warnings };
  }
  // An installed program no longer has the name of its archive; the manifest has the digest of the program itself.
  const artefact = release?.manifest.artefacts.find(({ program }) => program.sha256 === found.sha256);
  if (artefact !== undefined) return { ...found, path, by: `${artefact.file} of ${list}`, signedBy: key.id, warnings };
  throw refusal('DigestMismatch', `${list} has neither ${basename(path)} nor a program with its digest`, [
    { source: path, text: `SHA-256 ${found.sha256}` },
  ]);
}

/** By the signatures of all keys, or, for a list that was signed by hand, by the signature of openssl or cosign. */
async function signedList(directory: string, trust: TrustStore, now: Date): Promise<VerifiedList> {
  const list = await small(join(directory, LIST));
  const candidates = [
    { name: LIST_SIGNATURES, kind: 'set' },
    { name: LIST_SIGNATURE, kind: 'der' },
  ] as const;
  for (const { name, kind } of candidates) {
    if (!(await fileExists(join(directory, name)))) continue;
    return verifyList(list, { kind, bytes: await small(join(directory, name)) }, trust, now, directory);
  }
  const bundle: Signature = { kind: 'bundle', bytes: await small(join(directory, LIST_BUNDLE)) };
  return verifyList(list, bundle, trust, now, directory);
}

/** Refuses an expired signed directory. Its place and age are the caller's responsibility. */
async function ageOf(directory: string, digests: ReadonlyMap<string, string>, now: Date): Promise<readonly string[]> {
  if (!digests.has(DIRECTORY_MANIFEST)) return [];
  const { manifest } = await manifestOf(digests, () => small(join(directory, DIRECTORY_MANIFEST)), directory);
  return expiry(manifest, now, directory);
}

function mustBe(path: string, found: FileIdentity, sha256: string): void {
  if (found.sha256 === sha256) return;
  throw refusal('DigestMismatch', `${path} is not the file that is known`, [
    { source: path, text: `SHA-256 ${found.sha256} of ${found.size} bytes, not ${sha256}` },
  ]);
}

async function small(path: string): Promise<Uint8Array> {
  const bytes = await readSmallFile(path, SMALL, () => usageOf('verify', `${path} is too large for what it should be`));
  if (bytes === undefined) throw usageOf('verify', `there is no file ${path}`);
  return bytes;
}
