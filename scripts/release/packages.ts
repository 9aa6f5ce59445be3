import { copyFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { translatorFiles } from '../translator/manifests.ts';
import { digestOf } from './archives.ts';
import type { PackageSigner } from './openpgp.ts';

/** The entry of a package in manifest.json. */
export interface ReleasePackage {
  readonly file: string;
  readonly format: 'deb' | 'rpm' | 'zip' | 'oci';
  readonly os: 'linux' | 'windows';
  readonly architecture: 'amd64' | 'arm64';
  readonly size: number;
  readonly sha256: string;
  /** The reference of a container image in a registry: its name with the tag, and the digest of its index. */
  readonly image?: { readonly name: string; readonly digest: string };
}

/** The packages that `npm run package -- --all` makes, with the naming conventions of each format. */
function packageNames(version: string): readonly Pick<ReleasePackage, 'file' | 'format' | 'os' | 'architecture'>[] {
  return [
    { file: `machineadm_${version}_amd64.deb`, format: 'deb', os: 'linux', architecture: 'amd64' },
    { file: `machineadm_${version}_arm64.deb`, format: 'deb', os: 'linux', architecture: 'arm64' },
    { file: `machineadm-${version}-1.x86_64.rpm`, format: 'rpm', os: 'linux', architecture: 'amd64' },
    { file: `machineadm-${version}-1.aarch64.rpm`, format: 'rpm', os: 'linux', architecture: 'arm64' },
    { file: `machineadm-${version}-windows-amd64.zip`, format: 'zip', os: 'windows', architecture: 'amd64' },
  ];
}

/** Copies the existing packages of this version, and signs the rpms. Packages of other versions are not copied. */
export async function copyPackages(
  from: string,
  to: string,
  version: string,
  signer: PackageSigner | undefined,
): Promise<readonly ReleasePackage[]> {
  const built = await readdir(from);
  const packages: ReleasePackage[] = [];
  for (const name of packageNames(version).filter(({ file }) => built.includes(file))) {
    const path = join(to, name.file);
    await copyFile(join(from, name.file), path);
    if (name.format === 'rpm') signer?.signRpm(path);
    packages.push({ ...name, size: (await stat(path)).size, sha256: await digestOf(path) });
  }
  return packages;
}

/**
 * Copies the bills of materials, renamed like the archives, the licences, the library and the manifests of the translator.
 * They are listed only in SHA256SUMS, and not in manifest.json.
 */
export async function copyDocuments(from: string, to: string, version: string): Promise<void> {
  const built = await readdir(from);
  for (const file of ['LICENSES.txt', `machineadm-library-${version}.tgz`, ...translatorFiles(version)]) {
    if (built.includes(file)) await copyFile(join(from, file), join(to, file));
  }
  for (const file of built.filter((name) => name.endsWith('.cdx.json'))) {
    await copyFile(join(from, file), join(to, file.replace(/^machineadm-/, `machineadm-${version}-`)));
  }
}
