/**
 * Makes a release out of built binaries, or signs a directory of other files:
 *
 *   npm run package -- --all && npm run release -- --key private.pem          dist/ -> release/VERSION/
 *   npm run release -- --key private.pem --minimum-version 1.2.0
 *   npm run release -- --signer 'kms-sign --key release' --public-key p.pem   the private key stays where it is
 *   npm run release -- --key private.pem --list images/                       SHA256SUMS and its signature for a directory
 *
 * docs/trust.md has the layout and how keys are made, rotated and revoked.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildInfo } from '../src/cli/build-info.ts';
import { parseKeys } from '../src/trust/keys.ts';
import { parseManifest } from '../src/trust/manifest.ts';
import { LIST, LIST_BUNDLE, LIST_SIGNATURE, MANIFEST } from '../src/trust/release.ts';
import { compareReleases, isReleaseVersion } from '../src/trust/release-version.ts';
import { commitTime, fileDigest, gitCommit } from './build/inputs.ts';
import { archive, type ReleaseArtefact } from './release/archives.ts';
import { copyDocuments, copyPackages } from './release/packages.ts';
import { type ReleaseSigner, signerOf, sigstoreBundle } from './release/signer.ts';

export interface ReleaseWish {
  /** The directory with what `npm run package -- --all` made. */
  readonly from: string;
  /** The release becomes a directory of its version here. */
  readonly to: string;
  readonly version: string;
  readonly commit: string;
  readonly createdAt: Date;
  readonly minimumVersion: string;
  /** Ids of keys that must sign nothing any more. */
  readonly revokedKeys: readonly string[];
}

/** Makes the release and gives its directory. A release that is there already is never changed. */
export async function makeRelease(wish: ReleaseWish, signer: ReleaseSigner): Promise<string> {
  const { from, to, version, minimumVersion } = wish;
  if (!isReleaseVersion(version)) throw new Error(`"${version}" is not a version like 1.4.0`);
  if (!isReleaseVersion(minimumVersion) || compareReleases(minimumVersion, version) > 0) {
    throw new Error(`the minimum version "${minimumVersion}" is not a version up to ${version}`);
  }
  if (wish.revokedKeys.includes(signer.keyId))
    throw new Error('a release must not be signed with a key that it revokes');
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
    const packages = await copyPackages(from, work, version);
    await copyDocuments(from, work, version);
    const manifest = {
      apiVersion: 'machineadm.dev/release/v1',
      kind: 'Release',
      version,
      createdAt: wish.createdAt.toISOString(),
      commit: wish.commit,
      keyId: signer.keyId,
      minimumVersion,
      revokedKeys: wish.revokedKeys,
      artefacts,
      packages,
    };
    const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
    parseManifest(Buffer.from(text));
    await writeFile(join(work, MANIFEST), text);
    await signDirectory(work, signer);
    await chmod(work, 0o755);
    await rename(work, join(to, version));
    return join(to, version);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Writes SHA256SUMS over all files of a directory, its signature and its Sigstore bundle. Gives the names listed. */
export async function signDirectory(directory: string, signer: ReleaseSigner): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && ![LIST, LIST_SIGNATURE, LIST_BUNDLE].includes(entry.name))
    .map(({ name }) => name)
    .sort();
  if (names.length === 0) throw new Error(`there is no file in ${directory}`);
  const bad = names.find((name) => !/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(name));
  if (bad !== undefined) throw new Error(`the name "${bad}" cannot be in a ${LIST}: use letters, digits and ._+-`);
  const lines: string[] = [];
  for (const name of names) lines.push(`${await fileDigest(join(directory, name))}  ${name}\n`);
  const list = Buffer.from(lines.join(''));
  const signature = await signer.sign(list);
  await writeFile(join(directory, LIST), list);
  await writeFile(join(directory, LIST_SIGNATURE), signature);
  await writeFile(join(directory, LIST_BUNDLE), sigstoreBundle(list, signature, signer.keyId));
  return names;
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

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      from: { type: 'string', default: 'dist' },
      to: { type: 'string', default: 'release' },
      key: { type: 'string' },
      signer: { type: 'string' },
      'public-key': { type: 'string' },
      'minimum-version': { type: 'string' },
      revoke: { type: 'string', multiple: true, default: [] },
      list: { type: 'string' },
    },
  });
  const root = resolve(import.meta.dirname, '..');
  const signer = await signerOf({ key: values.key, command: values.signer, publicKey: values['public-key'] });
  if (values.list !== undefined) {
    const names = await signDirectory(values.list, signer);
    console.log(`signed ${names.length} files of ${values.list} with ${signer.keyId}`);
    return;
  }
  const { version } = buildInfo();
  const directory = await makeRelease(
    {
      from: values.from,
      to: values.to,
      version,
      commit: gitCommit(root),
      // All but the signature is the same bytes for the same commit.
      createdAt: new Date(commitTime(root) * 1000),
      minimumVersion: values['minimum-version'] ?? version,
      revokedKeys: await revoked(values.revoke),
    },
    signer,
  );
  const { packages } = parseManifest(await readFile(join(directory, MANIFEST)));
  console.log(`made ${directory} with ${packages.length} packages, signed with ${signer.keyId}`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(`no release was made: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
