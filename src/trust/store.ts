import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { namesIn, othersMayWrite, readSmallFile } from '../host/files/release-files.ts';
import { BUILT_IN_KEYS } from './built-in-keys.ts';
import { parseKeys, type TrustedKey } from './keys.ts';
import { isReleaseVersion } from './release-version.ts';

/** The trusted keys and their constraints. */
export interface TrustStore {
  readonly keys: readonly TrustedKey[];
  /** Ids of revoked keys. */
  readonly revoked: ReadonlySet<string>;
  /** The oldest accepted release. */
  readonly minimumVersion: string | undefined;
  /** How many different keys must have signed a list. */
  readonly threshold: number;
}

const TRUST_DIRECTORY = '/etc/machineadm/trust.d';

const LIMIT = 64 * 1024;

/**
 * The built-in keys, those of `*.pem` in the directory, and those of `keyFiles`. The directory's files `revoked` (one
 * key id per line), `minimum-version` and `threshold` (the required number of signatures) apply to all of them. Throws
 * `TrustedKeyInvalid`, also for a file of the directory that other users may write to.
 */
export async function loadTrust(keyFiles: readonly string[], directory = TRUST_DIRECTORY): Promise<TrustStore> {
  const keys = BUILT_IN_KEYS.flatMap((pem) => parseKeys(pem, 'a built-in key'));
  const names = await namesIn(directory);
  for (const name of names.filter((name) => name.endsWith('.pem'))) {
    keys.push(...parseKeys(await protectedText(join(directory, name)), join(directory, name)));
  }
  for (const path of keyFiles) keys.push(...parseKeys(await text(path), path));
  const revoked = names.includes('revoked') ? lines(await protectedText(join(directory, 'revoked'))) : [];
  const bad = revoked.find((id) => !/^[A-Za-z0-9+/]{43}=$/.test(id));
  if (bad !== undefined) throw unusable(join(directory, 'revoked'), `"${bad}" is not a key ID`);
  return {
    keys,
    revoked: new Set(revoked),
    minimumVersion: await minimumVersion(names, directory),
    threshold: await threshold(names, directory),
  };
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
