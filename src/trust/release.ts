import { createHash } from 'node:crypto';
import { parseChecksums, parseManifest, type ReleaseManifest } from './manifest.ts';
import { looksLikeWebPage, refusal } from './refusals.ts';
import { compareReleases } from './release-version.ts';
import { findSigner, type Signature, type Signer } from './signature.ts';
import type { TrustStore } from './store.ts';

/** A list of digests whose signature is valid. */
export interface VerifiedList {
  /** Digests by file name. */
  readonly digests: ReadonlyMap<string, string>;
  readonly signer: Signer;
}

export interface VerifiedRelease extends VerifiedList {
  readonly manifest: ReleaseManifest;
}

/** The files of a release directory that SHA256SUMS does not list. */
export const LIST = 'SHA256SUMS';
export const LIST_SIGNATURE = 'SHA256SUMS.sig';
export const LIST_BUNDLE = 'SHA256SUMS.sigstore.json';
/** The signatures of all keys, which machineadm verifies. The two above are for openssl and cosign. */
export const LIST_SIGNATURES = 'SHA256SUMS.signatures.json';
/** How the files of a release were built: an in-toto statement, listed like every other file. */
export const PROVENANCE = 'provenance.json';
/** The same statement, signed separately for cosign and other verifiers of SLSA provenance; not in the list. */
export const PROVENANCE_BUNDLE = 'provenance.sigstore.json';
/** Not in the list, because they are derived from it. */
export const SIGNING_FILES: readonly string[] = [LIST, LIST_SIGNATURE, LIST_BUNDLE, LIST_SIGNATURES];
export const MANIFEST = 'manifest.json';

/** Size limit of everything except archives and packages: licences, the bill of materials, the library. */
export const UNSIZED_LIMIT = 64 * 1024 * 1024;

/** The size of a file according to its signed manifest; undefined where the manifest does not list it. */
export function signedSize({ artefacts, packages }: ReleaseManifest, name: string): number | undefined {
  return [...artefacts, ...packages].find(({ file }) => file === name)?.size;
}

/**
 * Verifies a signed SHA256SUMS before reading it. Throws the errors of `findSigner` and `parseChecksums`, and
 * `WebPageReceived`.
 */
export async function verifyList(
  list: Uint8Array,
  signature: Signature,
  trust: TrustStore,
  now: Date,
  where: string,
): Promise<VerifiedList> {
  if (looksLikeWebPage(list)) throw refusal('WebPageReceived', `${where}/${LIST} is a web page`);
  const signer = await findSigner(`${where}/${LIST}`, [list], signature, trust, now);
  return { digests: parseChecksums(list), signer };
}

/** Throws `ReleaseTooOld`. */
export function refuseTooOld(
  version: string,
  { minimumVersion }: { readonly minimumVersion: string | undefined },
): void {
  if (minimumVersion === undefined || compareReleases(version, minimumVersion) >= 0) return;
  throw refusal('ReleaseTooOld', `the release ${version} is older than ${minimumVersion}, the oldest allowed`);
}

/**
 * Verifies a release: its signed list, its manifest against the list, and that its version is the requested one and not
 * forbidden. Throws the errors of `verifyList` and `parseManifest`, `DigestMismatch`, `ReleaseVersionMismatch`,
 * `ReleaseTooOld`, `SigningKeyRevoked`.
 */
export async function verifyRelease(
  files: { readonly list: Uint8Array; readonly signature: Signature; readonly manifest: Uint8Array },
  asked: string | undefined,
  trust: TrustStore,
  now: Date,
  where: string,
): Promise<VerifiedRelease> {
  const verified = await verifyList(files.list, files.signature, trust, now, where);
  const digest = createHash('sha256').update(files.manifest).digest('hex');
  if (digest !== verified.digests.get(MANIFEST)) {
    throw refusal('DigestMismatch', `${where}/${MANIFEST} is not the one that ${LIST} names`);
  }
  const manifest = parseManifest(files.manifest);
  const { version, artefacts, packages, revokedKeys } = manifest;
  if (asked !== undefined && version !== asked) {
    throw refusal('ReleaseVersionMismatch', `${where} holds the release ${version}, not ${asked}`);
  }
  refuseTooOld(version, trust);
  refuseTooOld(version, manifest);
  if (verified.signer.keys.some(({ id }) => revokedKeys.includes(id))) {
    throw refusal('SigningKeyRevoked', `the release ${version} revokes the very key that signed it`);
  }
  for (const { file, sha256 } of [...artefacts, ...packages]) {
    if (verified.digests.get(file) === sha256) continue;
    throw refusal('ReleaseManifestInvalid', `${MANIFEST} and ${LIST} of ${where} do not agree on ${file}`);
  }
  return { ...verified, manifest };
}
