/**
 * Makes a release out of built binaries, or signs a directory of other files:
 *
 *   npm run package -- --all && npm run image -- --all && npm run release -- --key private.pem   dist/ -> release/VERSION/
 *   npm run release -- --key private.pem --minimum-version 1.2.0
 *   npm run release -- --signer 'kms-sign --key release' --public-key p.pem   the private key stays where it is
 *   npm run release -- --key a.pem --key b.pem                                signed with two keys, for machines that demand it
 *   npm run release -- --key private.pem --gpg-key release@example.com        with signed rpms, and repositories/{apt,rpm}
 *   npm run release -- --key private.pem --list images/ --expires 90          signs a directory of other files
 *
 * docs/trust.md has the layout and how keys are made, rotated and revoked.
 */

import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { buildInfo } from '../src/cli/build-info.ts';
import { DIRECTORY_MANIFEST, parseDirectory } from '../src/trust/directory.ts';
import { parseKeys } from '../src/trust/keys.ts';
import { parseManifest } from '../src/trust/manifest.ts';
import {
  LIST,
  LIST_BUNDLE,
  LIST_SIGNATURE,
  LIST_SIGNATURES,
  MANIFEST,
  PROVENANCE,
  PROVENANCE_BUNDLE,
  SIGNING_FILES,
  signedSize,
  UNSIZED_LIMIT,
} from '../src/trust/release.ts';
import { compareReleases, isReleaseVersion } from '../src/trust/release-version.ts';
import { commitTime, gitCommit } from './build/inputs.ts';
import { readOptions } from './options.ts';
import { archive, digestOf, type ReleaseArtefact } from './release/archives.ts';
import { copyImages, imageNotes, imagesOf } from './release/images.ts';
import { type PackageSigner, packageSigner } from './release/openpgp.ts';
import { copyDocuments, copyPackages } from './release/packages.ts';
import { LOCAL_BUILDER, provenanceBundle, provenanceStatement } from './release/provenance.ts';
import { buildRepositories } from './release/repositories.ts';
import { type ReleaseSigner, signerOf, sigstoreBundle } from './release/signer.ts';
import { copySources } from './release/sources.ts';

export interface ReleaseOptions {
  /** The directory with what `npm run package -- --all` and `npm run image -- --all` made. */
  readonly from: string;
  /** The release becomes a directory of its version here. */
  readonly to: string;
  readonly version: string;
  readonly commit: string;
  readonly createdAt: Date;
  readonly minimumVersion: string;
  /** Ids of keys that must sign nothing any more. */
  readonly revokedKeys: readonly string[];
  /** The checkout, for manifests, scripts and the changelog. A release of bare binaries has none of them. */
  readonly checkout?: string;
  /** Signs the rpms. */
  readonly packageSigner?: PackageSigner;
  /** The URI of who runs the build, and where the sources are published, for the provenance. */
  readonly builder?: string;
  readonly source?: string;
}

/** Makes the release and gives its directory. A release that is there already is never changed. */
export async function makeRelease(wish: ReleaseOptions, ...signers: readonly ReleaseSigner[]): Promise<string> {
  const { from, to, version, minimumVersion } = wish;
  if (!isReleaseVersion(version)) throw new Error(`"${version}" is not a version like 1.4.0`);
  if (!isReleaseVersion(minimumVersion) || compareReleases(minimumVersion, version) > 0) {
    throw new Error(`the minimum version "${minimumVersion}" is not a version up to ${version}`);
  }
  refuseRevoked(wish.revokedKeys, signers);
  await mkdir(to, { recursive: true });
  if ((await readdir(to)).includes(version)) throw new Error(`${join(to, version)} exists: a release is never changed`);
  const work = await mkdtemp(join(to, '.release-'));
  try {
    const artefacts: ReleaseArtefact[] = [];
    const built = await readdir(from);
    for (const file of built.sort()) {
      const [, os, architecture] = /^machineadm-(linux|windows)-(amd64|arm64)(?:\.exe)?$/.exec(file) ?? [];
      if (os === undefined || architecture === undefined) continue;
      artefacts.push(...(await archive(join(from, file), work, { version, os, architecture })));
    }
    if (artefacts.length === 0) throw new Error(`there is no machineadm-OS-ARCHITECTURE in ${from}: build it first`);
    const packages = [
      ...(await copyPackages(from, work, version, wish.packageSigner)),
      ...(await copyImages(from, work, wish, artefacts)),
    ];
    await copyDocuments(from, work, version);
    if (wish.checkout !== undefined) await copySources(wish.checkout, work, wish, imageNotes(packages));
    const manifest = {
      apiVersion: 'machineadm.dev/release/v1',
      kind: 'Release',
      version,
      createdAt: wish.createdAt.toISOString(),
      commit: wish.commit,
      keyId: signers[0]?.keyId,
      minimumVersion,
      revokedKeys: wish.revokedKeys,
      artefacts,
      packages,
    };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    const parsed = parseManifest(Buffer.from(text));
    await writeFile(join(work, MANIFEST), text);
    for (const name of await namesToList(work)) {
      const { size } = await stat(join(work, name));
      if (size <= (signedSize(parsed, name) ?? UNSIZED_LIMIT)) continue;
      throw new Error(
        `${name} has ${size} bytes: no machine takes more of a file whose size ${MANIFEST} does not name`,
      );
    }
    const { builder = LOCAL_BUILDER } = wish;
    // An image is asked for by its digest in a registry, where there is no archive.
    const images = imagesOf(packages).map(({ name, digest }) => [name, digest.slice('sha256:'.length)] as const);
    const subjects = new Map([...(await digestsOf(work)), ...images]);
    const statement = await provenanceStatement({ ...wish, builder }, subjects);
    await writeFile(join(work, PROVENANCE), statement);
    await signList(work, signers);
    // After the list, which must be the same bytes for the same commit: a signature by ECDSA never is.
    await writeFile(join(work, PROVENANCE_BUNDLE), await provenanceBundle(statement, firstOf(signers)));
    await chmod(work, 0o755);
    await rename(work, join(to, version));
    return join(to, version);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What a signed directory says of itself beside its files. */
export interface DirectoryOptions {
  /** Where it is published: the last components of its path there. Default: the name of the directory. */
  readonly place?: string;
  /** Default: one more than the directory was signed with last, or 1. */
  readonly version?: number;
  /** Default: now. */
  readonly createdAt?: Date;
  /** Default: it never expires. */
  readonly expiresAt?: Date;
  readonly revokedKeys?: readonly string[];
}

/**
 * Signs a directory of documents or archives for the place where it is published: `directory.json` with its place and a
 * rising version, and the list over all files. Gives the names listed.
 */
export async function signDirectory(
  directory: string,
  wish: DirectoryOptions,
  ...signers: readonly ReleaseSigner[]
): Promise<readonly string[]> {
  const { place = basename(resolve(directory)), createdAt = new Date(), expiresAt, revokedKeys = [] } = wish;
  refuseRevoked(revokedKeys, signers);
  await namesToList(directory);
  const path = join(directory, DIRECTORY_MANIFEST);
  const before = await readFile(path).catch(() => undefined);
  const manifest = {
    apiVersion: 'machineadm.dev/directory/v1',
    kind: 'SignedDirectory',
    place,
    version: wish.version ?? (before === undefined ? 1 : parseDirectory(before).version + 1),
    createdAt: createdAt.toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
    revokedKeys,
  };
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  parseDirectory(Buffer.from(text));
  await writeFile(path, text);
  return await signList(directory, signers);
}

function refuseRevoked(revokedKeys: readonly string[], signers: readonly ReleaseSigner[]): void {
  if (signers.some(({ keyId }) => revokedKeys.includes(keyId)))
    throw new Error('nothing may be signed with a key that it revokes');
}

/** Writes SHA256SUMS over all files of a directory, its signatures and a Sigstore bundle. Gives the names listed. */
async function signList(directory: string, signers: readonly ReleaseSigner[]): Promise<readonly string[]> {
  const first = firstOf(signers);
  const digests = await digestsOf(directory);
  const list = Buffer.from([...digests].map(([name, digest]) => `${digest}  ${name}\n`).join(''));
  const signatures = await Promise.all(
    signers.map(async (signer) => ({ keyId: signer.keyId, bytes: await signer.sign(list) })),
  );
  const signature = signatures[0]?.bytes ?? new Uint8Array();
  const set = signatures.map(({ keyId, bytes }) => ({ keyId, signature: Buffer.from(bytes).toString('base64') }));
  await writeFile(join(directory, LIST), list);
  await writeFile(join(directory, LIST_SIGNATURE), signature);
  await writeFile(join(directory, LIST_BUNDLE), sigstoreBundle(list, signature, first.keyId));
  await writeFile(join(directory, LIST_SIGNATURES), `${JSON.stringify({ signatures: set }, undefined, 2)}\n`);
  return [...digests.keys()];
}

function firstOf(signers: readonly ReleaseSigner[]): ReleaseSigner {
  const [first] = signers;
  if (first === undefined) throw new Error('name a key to sign with');
  return first;
}

/** SHA-256 of the files that a list names, in its order. */
async function digestsOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>();
  for (const name of await namesToList(directory)) digests.set(name, await digestOf(join(directory, name)));
  return digests;
}

async function namesToList(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && !SIGNING_FILES.includes(entry.name))
    .map(({ name }) => name)
    .sort();
  if (names.length === 0) throw new Error(`there is no file in ${directory}`);
  const bad = names.find((name) => !/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(name));
  if (bad !== undefined) throw new Error(`the name "${bad}" cannot be in a ${LIST}: use letters, digits and ._+-`);
  return names;
}

/**
 * The minimum version of a release that names none: that of its predecessor among the releases in a directory, so that a
 * release forbids older ones only where its publisher says so. Without a predecessor it forbids none.
 */
export async function minimumOfPredecessor(releases: string, version: string): Promise<string> {
  const names = await readdir(releases).catch(() => []);
  const older = names.filter((name) => isReleaseVersion(name) && compareReleases(name, version) < 0);
  const predecessor = older.sort(compareReleases).at(-1);
  if (predecessor === undefined) return '0.0.0';
  return parseManifest(await readFile(join(releases, predecessor, MANIFEST))).minimumVersion;
}

/** The ids of revoked keys: each word is an id, or a PEM file with the keys themselves. */
async function revoked(words: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const word of words) {
    if (/^[A-Za-z0-9+/]{43}=$/.test(word)) ids.push(word);
    else ids.push(...parseKeys(await readFile(word, 'utf8'), word).map(({ id }) => id));
  }
  return ids;
}

/** So many days from now. */
function inDays(text: string): Date {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error('--expires takes a number of days');
  return new Date(Date.now() + Number(text) * 86_400_000);
}

async function main(): Promise<void> {
  const { values } = readOptions(import.meta.filename, {
    options: {
      from: { type: 'string', default: 'dist' },
      to: { type: 'string', default: 'release' },
      key: { type: 'string', multiple: true, default: [] },
      signer: { type: 'string' },
      'public-key': { type: 'string' },
      'minimum-version': { type: 'string' },
      revoke: { type: 'string', multiple: true, default: [] },
      list: { type: 'string' },
      place: { type: 'string' },
      expires: { type: 'string' },
      'gpg-key': { type: 'string' },
      repositories: { type: 'string', default: 'repositories' },
      builder: { type: 'string' },
      source: { type: 'string' },
    },
  });
  const root = resolve(import.meta.dirname, '..');
  const signers =
    values.key.length > 0 && values.signer === undefined && values['public-key'] === undefined
      ? await Promise.all(values.key.map((key) => signerOf({ key, command: undefined, publicKey: undefined })))
      : [await signerOf({ key: values.key[0], command: values.signer, publicKey: values['public-key'] })];
  const keyIds = signers.map(({ keyId }) => keyId).join(' and ');
  if (values.list !== undefined) {
    const { place, expires } = values;
    const wish = {
      ...(place === undefined ? {} : { place }),
      ...(expires === undefined ? {} : { expiresAt: inDays(expires) }),
      revokedKeys: await revoked(values.revoke),
    };
    const names = await signDirectory(values.list, wish, ...signers);
    console.log(`signed ${names.length} files of ${values.list} with ${keyIds}`);
    return;
  }
  if (values.place !== undefined || values.expires !== undefined)
    throw new Error('--place and --expires go with --list');
  const { version } = buildInfo();
  const { builder, source, 'gpg-key': gpgKey } = values;
  const forPackages = gpgKey === undefined ? undefined : packageSigner(gpgKey);
  const directory = await makeRelease(
    {
      from: values.from,
      to: values.to,
      version,
      commit: gitCommit(root),
      // All but the signature is the same bytes for the same commit.
      createdAt: new Date(commitTime(root) * 1000),
      minimumVersion: values['minimum-version'] ?? (await minimumOfPredecessor(values.to, version)),
      revokedKeys: await revoked(values.revoke),
      checkout: root,
      ...(forPackages === undefined ? {} : { packageSigner: forPackages }),
      ...(builder === undefined ? {} : { builder }),
      ...(source === undefined ? {} : { source }),
    },
    ...signers,
  );
  const { packages } = parseManifest(await readFile(join(directory, MANIFEST)));
  const count = new Set(packages.map(({ file }) => file)).size;
  console.log(`made ${directory} with ${count} packages, signed with ${keyIds}`);
  if (!packages.some(({ format }) => format === 'oci'))
    console.log('it has no container image: npm run image -- --all builds it');
  if (forPackages === undefined) {
    console.log('rpms are not signed, and no repositories were built: name a key of GnuPG with --gpg-key');
    return;
  }
  await buildRepositories(values.to, values.repositories, forPackages);
  console.log(
    `built ${values.repositories}/apt and ${values.repositories}/rpm, signed with ${forPackages.fingerprint}`,
  );
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(`no release was made: ${errorMessage(error)}`);
    process.exitCode = 1;
  }
}
