import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { namesIn, othersMayWrite, readSmallFile } from '../host/local-files/release-files.ts';
import { parseKeys } from './keys.ts';
import { defaultMemoryPath, readTrustMemory, withMemory } from './memory.ts';
import { isReleaseVersion } from './release-version.ts';
import { parseRoot, ROOT } from './root.ts';
import { newestRoot } from './root-chain.ts';
import type { TrustStore } from './store.ts';

export const TRUST_DIRECTORY = '/etc/machineadm/trust.d';

/**
 * Public keys (PEM) that this build trusts. None by default: a project that signs its own releases adds its keys here.
 * Everyone else configures keys in `/etc/machineadm/trust.d` or with `--key`.
 */
const BUILT_IN_KEYS: readonly string[] = [];

const LIMIT = 64 * 1024;

/**
 * The keys that this machine trusts, and what restricts them. They are those of the newest root, where the directory has
 * a `root.json`; otherwise the built-in keys, those of `*.pem` in the directory and of `keyFiles`. The directory's files
 * `revoked` (one key id per line), `minimum-version` and, without a root, `threshold` (the required number of
 * signatures) apply to all of them, and so does what this machine has learned. Throws `TrustedKeyInvalid`, also for a
 * file of the directory that other users may write to, and the errors of `newestRoot`.
 *
 * @param memoryPath the record of what was verified; see `memory.ts`
 */
export async function loadTrust(
  keyFiles: readonly string[],
  directory = TRUST_DIRECTORY,
  memoryPath = defaultMemoryPath(),
): Promise<TrustStore> {
  const names = await namesIn(directory);
  const memory = await readTrustMemory(memoryPath);
  const revoked = await revokedKeys(names, directory);
  const restricted = { revoked, minimumVersion: await minimumVersion(names, directory) };
  if (names.includes(ROOT)) {
    refusePlainKeys(names, keyFiles, directory);
    const path = join(directory, ROOT);
    const chain = await newestRoot(parseRoot(await protectedText(path), path), memory, revoked, path);
    const { lists } = chain.at(-1) ?? chain[0];
    return withMemory({ ...lists, ...restricted, roots: { chain, revoked } }, memory);
  }
  const keys = BUILT_IN_KEYS.flatMap((pem) => parseKeys(pem, 'a built-in key'));
  for (const name of names.filter((name) => name.endsWith('.pem'))) {
    keys.push(...parseKeys(await protectedText(join(directory, name)), join(directory, name)));
  }
  for (const path of keyFiles) keys.push(...parseKeys(await text(path), path));
  return withMemory({ keys, threshold: await threshold(names, directory), ...restricted }, memory);
}

/** A key beside a root could sign what the root does not let it sign, so both are refused. Throws `TrustedKeyInvalid`. */
export function refusePlainKeys(names: readonly string[], keyFiles: readonly string[], directory: string): void {
  const plain = names.find((name) => name.endsWith('.pem') || name === 'threshold');
  if (plain !== undefined) {
    throw unusable(
      join(directory, plain),
      `${ROOT} names all keys of its directory`,
      `Remove ${plain}, or do not use ${ROOT}.`,
    );
  }
  const [file] = keyFiles;
  if (file === undefined) return;
  throw unusable(
    file,
    `the root in ${directory} names all keys`,
    'Leave out --key, or name another directory with --trust-directory.',
  );
}

/** The keys that the operator revoked. Throws `TrustedKeyInvalid`. */
export async function revokedKeys(names: readonly string[], directory: string): Promise<ReadonlySet<string>> {
  if (!names.includes('revoked')) return new Set();
  const path = join(directory, 'revoked');
  const ids = lines(await protectedText(path));
  const bad = ids.find((id) => !/^[A-Za-z0-9+/]{43}=$/.test(id));
  if (bad !== undefined) throw unusable(path, `"${bad}" is not a key ID`);
  return new Set(ids);
}

async function threshold(names: readonly string[], directory: string): Promise<number> {
  if (!names.includes('threshold')) return 1;
  const path = join(directory, 'threshold');
  const [number = '', ...rest] = lines(await protectedText(path));
  if (rest.length > 0 || !/^[1-9]$/.test(number)) throw unusable(path, 'it does not hold a number from 1 to 9');
  return Number(number);
}

async function minimumVersion(names: readonly string[], directory: string): Promise<string | undefined> {
  if (!names.includes('minimum-version')) return undefined;
  const path = join(directory, 'minimum-version');
  const [version = '', ...rest] = lines(await protectedText(path));
  if (rest.length > 0 || !isReleaseVersion(version)) throw unusable(path, 'it does not hold one version, like 1.4.0');
  return version;
}

/** Lines with content: a line that begins with # is a comment. */
function lines(content: string): readonly string[] {
  return content
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

async function protectedText(path: string): Promise<string> {
  if (await othersMayWrite(path)) {
    throw unusable(
      path,
      'others than root may write to it',
      `Make it root's alone: chown root ${path}; chmod 644 ${path}`,
    );
  }
  return text(path);
}

async function text(path: string): Promise<string> {
  const bytes = await readSmallFile(path, LIMIT, () => unusable(path, 'it is too large for keys'));
  if (bytes === undefined) throw unusable(path, 'it does not exist');
  return Buffer.from(bytes).toString('utf8');
}

function unusable(path: string, why: string, remedy = 'Correct the file, or remove it.'): MachineadmError {
  return new MachineadmError({ reason: 'TrustedKeyInvalid', summary: `${path} cannot be used: ${why}`, remedy });
}
