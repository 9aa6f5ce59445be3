/**
 * Fills and checks a mirror for machines without internet access:
 *
 *   npm run mirror -- --to DIRECTORY --key publisher.pem --from LOCATION --release 1.4.0 --release 1.3.2 --files images/
 *   npm run mirror -- --to DIRECTORY --key publisher.pem --check      verifies a copy of the mirror completely
 *
 * It prints the digests for user data. docs/trust.md describes the layout. `machineadm fetch` can also fill a mirror; this
 * script does so for several releases at once and verifies all files.
 */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { openDownloadSource } from '../src/trust/download-source.ts';
import { fetchFiles, fetchRelease } from '../src/trust/fetch.ts';
import { pathOfRoot } from '../src/trust/follow-roots.ts';
import { releaseIn } from '../src/trust/mirror.ts';
import { LIST } from '../src/trust/release.ts';
import { verifyRoot } from '../src/trust/root.ts';
import { readRoot, writeRoot } from '../src/trust/root-files.ts';
import type { TrustStore } from '../src/trust/store.ts';
import { loadTrust } from '../src/trust/trust-directory.ts';
import { verifyFiles } from '../src/trust/verify.ts';
import { readOptions } from './options.ts';

/** The record of earlier verifications, in the mirror. No machine reads it. */
const MEMORY = '.trust.json';

/** Verifies every file of a mirror with the signed list in its directory. Returns the number of verified files and the errors. */
export async function checkMirror(
  mirror: string,
  trust: TrustStore,
  now: Date,
): Promise<{ readonly proved: number; readonly wrong: readonly string[] }> {
  const wrong: string[] = [];
  let proved = 0;
  const entries = await readdir(mirror, { withFileTypes: true, recursive: true });
  const listed = new Set(entries.filter(({ name }) => name === LIST).map(({ parentPath }) => parentPath));
  for (const entry of entries.filter((entry) => entry.isFile() && entry.name !== MEMORY)) {
    const path = join(entry.parentPath, entry.name);
    try {
      if (/^roots[/\\][^/\\]+$/.test(relative(mirror, entry.parentPath))) {
        await verifyRoot(await readRoot(path), trust.revoked, path);
        proved += 1;
        continue;
      }
      if (!listed.has(entry.parentPath)) throw new Error(`there is no ${LIST} beside it`);
      await verifyFiles([path], {}, trust, now);
      proved += 1;
    } catch (error) {
      wrong.push(`${path}: ${errorMessage(error)}`);
    }
  }
  if (proved + wrong.length === 0) wrong.push(`${mirror} is empty`);
  return { proved, wrong };
}

/** The digests of a release to pin: for user data, those of each Linux archive and its program; for pods, those of images. */
async function pins(mirror: string, version: string, trust: TrustStore, now: Date): Promise<readonly string[]> {
  const release = await releaseIn(join(mirror, version), trust, now);
  const { artefacts = [], packages = [] } = release?.manifest ?? {};
  return [
    ...artefacts
      .filter(({ os }) => os === 'linux')
      .map(
        ({ architecture, compression, sha256, program }) =>
          `${version} ${architecture} ${compression} ${sha256}  program ${program.sha256}`,
      ),
    ...packages.flatMap(({ architecture, format, sha256, image }) =>
      image === undefined
        ? []
        : [`${version} ${architecture} ${format} ${sha256}  image ${image.name}@${image.digest}`],
    ),
  ];
}

async function main(): Promise<void> {
  const { values } = readOptions(import.meta.filename, {
    options: {
      from: { type: 'string', multiple: true, default: [] },
      to: { type: 'string' },
      release: { type: 'string', multiple: true, default: [] },
      files: { type: 'string', multiple: true, default: [] },
      key: { type: 'string', multiple: true, default: [] },
      ca: { type: 'string', multiple: true, default: [] },
      authorization: { type: 'string', multiple: true, default: [] },
      proxy: { type: 'string' },
      check: { type: 'boolean', default: false },
    },
  });
  const { to, release: releases, files } = values;
  if (to === undefined) throw new Error('name the mirror with --to');
  if (!values.check && (values.from.length === 0 || releases.length + files.length === 0)) {
    throw new Error('name where from with --from and what with --release and --files, or --check the mirror');
  }
  const now = new Date();
  const trust = await loadTrust(values.key, undefined, join(to, MEMORY));
  // The mirror contains the record of earlier verifications, because new machines have no record of their own.
  const trusted = { trust, memoryPath: join(to, MEMORY) };
  const { sources, client } = await openDownloadSource({
    locations: values.from,
    certificateAuthorities: values.ca,
    authorizations: values.authorization,
    proxy: values.proxy,
  });
  try {
    const attempts = { deadlineMs: 3_600_000, onFailure: (_: unknown, error: Error) => console.error(error.message) };
    for (const version of releases) {
      const { warnings } = await fetchRelease({ version, platforms: undefined, to }, sources, trusted, now, attempts);
      for (const warning of warnings) console.error(`warning: ${warning}`);
    }
    if (files.length > 0) await fetchFiles({ names: files, sha256: undefined, to }, sources, trusted, now, attempts);
  } finally {
    await client.close();
  }
  // What was fetched may have led to a newer root.
  const newest = await loadTrust(values.key, undefined, join(to, MEMORY));
  for (const root of newest.roots?.chain ?? []) await writeRoot(join(to, pathOfRoot(root, root.version)), root);
  const { proved, wrong } = await checkMirror(to, newest, now);
  for (const version of releases) for (const line of await pins(to, version, newest, now)) console.log(line);
  for (const line of wrong) console.error(line);
  console.log(`${proved} files in ${to} are verified, ${wrong.length} are not`);
  if (wrong.length > 0) process.exitCode = 1;
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(`the mirror was not filled: ${errorMessage(error)}`);
    if (error instanceof MachineadmError)
      for (const { source, text } of error.evidence) console.error(`  ${source}: ${text}`);
    process.exitCode = 1;
  }
}
