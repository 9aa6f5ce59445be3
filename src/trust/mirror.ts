import { join } from 'node:path';
import { namesIn, readSmallFile } from '../host/local-files/release-files.ts';
import { isRefusal, refusal } from './refusals.ts';
import { LIST, LIST_SIGNATURES, MANIFEST, type VerifiedRelease, verifyRelease } from './release.ts';
import { compareReleases, isReleaseVersion } from './release-version.ts';
import type { TrustStore } from './store.ts';

const LIMIT = 1024 * 1024;

/** The release in a directory, by its signed list; undefined where there is none. Throws what `verifyRelease` throws. */
export async function releaseIn(directory: string, trust: TrustStore, now: Date): Promise<VerifiedRelease | undefined> {
  const read = (name: string) =>
    readSmallFile(join(directory, name), LIMIT, () =>
      refusal('ReleaseManifestInvalid', `${join(directory, name)} is larger than it may be`),
    );
  const [list, bytes, manifest] = [await read(LIST), await read(LIST_SIGNATURES), await read(MANIFEST)];
  if (list === undefined || bytes === undefined || manifest === undefined) return undefined;
  return verifyRelease({ list, signature: { kind: 'set', bytes }, manifest }, undefined, trust, now, directory);
}

/**
 * Extends the trust store by what a mirror knows: a release in it with a valid signature may forbid older ones and
 * revoke keys. A fresh node has no record of its own, so this detects a mirror that was rolled back.
 */
export async function trustOfMirror(directory: string, trust: TrustStore, now: Date): Promise<TrustStore> {
  const revoked = new Set(trust.revoked);
  let { minimumVersion } = trust;
  for (const name of (await namesIn(directory)).filter(isReleaseVersion)) {
    const release = await releaseIn(join(directory, name), trust, now).catch((error: unknown) => {
      // An invalid release is ignored here; fetching it again replaces it.
      if (isRefusal(error)) return undefined;
      throw error;
    });
    if (release === undefined) continue;
    for (const id of release.manifest.revokedKeys) revoked.add(id);
    const floor = release.manifest.minimumVersion;
    if (minimumVersion === undefined || compareReleases(floor, minimumVersion) > 0) minimumVersion = floor;
  }
  return { ...trust, revoked, minimumVersion };
}
