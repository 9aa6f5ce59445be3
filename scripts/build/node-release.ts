import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposableSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';

/** The list of nodejs.org with its signature, the keys that sign such lists, and what is inside of its archives. */
export const NODE_RELEASE = join(import.meta.dirname, 'node-release');
/** As nodejs.org names it. */
export const SIGNED_LIST = 'SHASUMS256.txt.asc';

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
const Programs = z.object({
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  /** By npm package. */
  programs: z.record(
    z.string(),
    z.object({
      /** Its line in the signed list: an archive, or on Windows the program itself. */
      file: z.string(),
      /** Of the program in it. */
      sha256: Digest,
    }),
  ),
});

/** `programs.json`: Node's programs by npm package, and the published file that each is from. */
export type PublishedPrograms = z.infer<typeof Programs>;

/** The digests of a list that is signed in clear (RFC 9580, 7), by file name. The signature is not verified here. */
export function listedDigests(text: string): ReadonlyMap<string, string> {
  const [, body = ''] =
    /^-----BEGIN PGP SIGNED MESSAGE-----\nHash: \w+\n\n([\s\S]*?)\n-----BEGIN PGP SIGNATURE-----/.exec(text) ?? [];
  const lines = body.split('\n').map((line) => /^([0-9a-f]{64}) {2}(\S+)$/.exec(line));
  return new Map(lines.flatMap((line) => (line === null ? [] : [[line[2] ?? '', line[1] ?? ''] as const])));
}

/**
 * Verifies the signature of a list with the keys in the repository, which are those of nodejs/release-keys. Throws with what
 * gpg(1) says where none of them made it.
 */
export function verifyList(list: string): void {
  const keys = readdirSync(NODE_RELEASE).filter((name) => name.endsWith('.asc') && name !== SIGNED_LIST);
  using home = mkdtempDisposableSync(join(tmpdir(), 'machineadm-node-keys-'));
  const gpg = (...args: readonly string[]): void =>
    void execFileSync('gpg', ['--homedir', home.path, '--batch', '--no-autostart', ...args], { stdio: 'pipe' });
  gpg('--import', ...keys.map((name) => join(NODE_RELEASE, name)));
  gpg('--verify', list);
}

/** What the maintainers of Node published, as this repository has it. */
export function publishedPrograms(directory: string = NODE_RELEASE): PublishedPrograms {
  return Programs.parse(JSON.parse(readFileSync(join(directory, 'programs.json'), 'utf8')));
}

/** Where nodejs.org has the signed list of a version. */
export function signedListUrl(version: string): string {
  return `https://nodejs.org/dist/v${version}/${SIGNED_LIST}`;
}

/** The SHA-256 of the signed list, for bills of materials and provenance. */
export function signedListDigest(directory: string = NODE_RELEASE): string {
  return createHash('sha256')
    .update(readFileSync(join(directory, SIGNED_LIST)))
    .digest('hex');
}

/**
 * Throws unless a Node program is the one that its maintainers published. npm's packages of Node are made by others, and the
 * lock file only says that they did not change since.
 */
export async function assertPublished(
  executable: string,
  npmPackage: string,
  version: string,
  directory: string = NODE_RELEASE,
): Promise<void> {
  const published = publishedPrograms(directory);
  const program = published.programs[npmPackage];
  const remedy = 'run npm run node-release';
  if (published.version !== version || program === undefined) {
    throw new Error(`nothing is known of ${npmPackage} ${version} as nodejs.org published it: ${remedy}`);
  }
  const listed = listedDigests(await readFile(join(directory, SIGNED_LIST), 'utf8')).get(program.file);
  if (listed === undefined || (program.file.endsWith('.exe') && listed !== program.sha256)) {
    throw new Error(`programs.json and ${SIGNED_LIST} do not agree on ${program.file}: ${remedy}`);
  }
  const found = createHash('sha256')
    .update(await readFile(executable))
    .digest('hex');
  if (found !== program.sha256) {
    throw new Error(`${executable} has the SHA-256 ${found}; in ${program.file} of nodejs.org it is ${program.sha256}`);
  }
}
