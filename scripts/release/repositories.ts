import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseManifest } from '../../src/trust/manifest.ts';
import { MANIFEST } from '../../src/trust/release.ts';
import { compareReleases, isReleaseVersion } from '../../src/trust/release-version.ts';
import { type PackageSigner, run } from './openpgp.ts';

/** The public key beside the repositories. */
const KEY = 'machineadm.asc';
const POOL = 'pool/main/m/machineadm';
const ARCHITECTURES = ['amd64', 'arm64'] as const;

/**
 * Builds an apt and an rpm repository below `to` with the packages of all releases in a directory, and replaces those
 * that were there. Their times are those of the newest release.
 */
export async function buildRepositories(releases: string, to: string, signer: PackageSigner): Promise<void> {
  const versions = (await readdir(releases)).filter((name) => isReleaseVersion(name)).sort(compareReleases);
  const manifests = await Promise.all(
    versions.map(async (version) => parseManifest(await readFile(join(releases, version, MANIFEST)))),
  );
  const packages = manifests.flatMap(({ version, packages }) =>
    packages.map(({ file, format }) => ({ format, path: join(releases, version, file) })),
  );
  const createdAt = new Date(Math.max(...manifests.map((manifest) => Date.parse(manifest.createdAt))));
  await mkdir(dirname(to), { recursive: true });
  const work = await mkdtemp(join(dirname(to), '.repositories-'));
  try {
    const made = join(work, 'new');
    const of = (wanted: string) => packages.filter(({ format }) => format === wanted).map(({ path }) => path);
    await mkdir(made, { mode: 0o755 });
    await writeFile(join(made, KEY), signer.publicKey);
    await aptRepository(of('deb'), join(made, 'apt'), createdAt, signer);
    await rpmRepository(of('rpm'), join(made, 'rpm'), createdAt, signer);
    // The directory is replaced by renames, so that no client sees a mixture of both repositories.
    if ((await readdir(dirname(to))).includes(basename(to))) await rename(to, join(work, 'old'));
    await rename(made, to);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The layout of https://wiki.debian.org/DebianRepository/Format, suite `stable`, component `main`. */
async function aptRepository(
  debs: readonly string[],
  directory: string,
  createdAt: Date,
  signer: PackageSigner,
): Promise<void> {
  await mkdir(join(directory, POOL), { recursive: true });
  const entries: { readonly architecture: string; readonly text: string }[] = [];
  for (const deb of debs) {
    const filename = `${POOL}/${basename(deb)}`;
    await copyFile(deb, join(directory, filename));
    const control = execFileSync('dpkg-deb', ['--field', deb], { encoding: 'utf8' }).trimEnd();
    const [{ size }, content] = [await stat(deb), await readFile(deb)];
    const text = `${control}\nFilename: ${filename}\nSize: ${size}\nSHA256: ${sha256(content)}\n`;
    entries.push({ architecture: /^Architecture: (.*)$/m.exec(control)?.[1] ?? '', text });
  }
  const suite = join(directory, 'dists/stable');
  const lines: string[] = [];
  for (const architecture of ARCHITECTURES) {
    const index = `main/binary-${architecture}/Packages`;
    const own = entries.filter((entry) => entry.architecture === architecture);
    const packages = Buffer.from(own.map(({ text }) => text).join('\n'));
    await mkdir(join(suite, dirname(index)), { recursive: true });
    for (const [name, content] of [
      [index, packages],
      [`${index}.gz`, gzipSync(packages, { level: 9 })],
    ] as const) {
      await writeFile(join(suite, name), content);
      lines.push(` ${sha256(content)} ${content.length} ${name}`);
    }
  }
  const release = [
    'Origin: machineadm',
    'Label: machineadm',
    'Suite: stable',
    'Codename: stable',
    `Date: ${createdAt.toUTCString().replace('GMT', 'UTC')}`,
    `Architectures: ${ARCHITECTURES.join(' ')}`,
    'Components: main',
    'Description: machineadm, on-node bootstrap agent for Kubernetes',
    'SHA256:',
    ...lines,
    '',
  ].join('\n');
  await writeFile(join(suite, 'Release'), release);
  await writeFile(join(suite, 'InRelease'), signer.clearSign(release));
  await writeFile(join(suite, 'Release.gpg'), signer.detachedSignature(release));
}

/** A repository of createrepo_c, with a signature over repomd.xml, which contains the digests of the other files. */
async function rpmRepository(
  rpms: readonly string[],
  directory: string,
  createdAt: Date,
  signer: PackageSigner,
): Promise<void> {
  if (rpms.length === 0) return;
  const pool = join(directory, 'Packages');
  await mkdir(pool, { recursive: true });
  for (const rpm of rpms) {
    await copyFile(rpm, join(pool, basename(rpm)));
    await chmod(join(pool, basename(rpm)), 0o644);
  }
  const revision = `${Math.floor(createdAt.getTime() / 1000)}`;
  const fixed = ['--revision', revision, '--set-timestamp-to-revision', '--no-database', '--workers', '1'];
  run('createrepo_c', ['--quiet', ...fixed, directory], process.env);
  const index = join(directory, 'repodata/repomd.xml');
  await writeFile(`${index}.asc`, signer.detachedSignature(await readFile(index)));
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
