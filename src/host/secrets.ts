import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path/posix';
import { MachineadmError } from '../document/errors.ts';
import { Secret, type SecretValue } from '../document/secret.ts';
import { errnoOf } from './file-error.ts';

/** Where references that name no path are looked up. */
export interface SecretPlaces {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Looked through in order for a systemd credential; a unit's own come first (systemd.exec(5), LoadCredential=). */
  readonly credentialDirectories: readonly string[];
}

/** As systemd limits a credential: 1 MiB. */
const LIMIT_BYTES = 1024 * 1024;

/** The places of this process: its environment, its unit's credentials, then the credential store of the system. */
export function ownSecretPlaces(): SecretPlaces {
  const ofUnit = process.env.CREDENTIALS_DIRECTORY;
  return { env: process.env, credentialDirectories: [...(ofUnit === undefined ? [] : [ofUnit]), '/run/credstore'] };
}

/**
 * Resolves a secret. What is read from a file loses one trailing newline, which editors and `echo` add. undefined:
 * finding it out has effects (`hasEffects`). Throws `SecretUnavailable` naming the secret and the place, never the
 * value; an empty one counts as not there.
 */
export async function resolveSecret(
  value: SecretValue,
  places: SecretPlaces = ownSecretPlaces(),
): Promise<Secret | undefined> {
  const { source } = value;
  switch (source.kind) {
    case 'value':
      return source.secret;
    case 'env':
      return secretOf(places.env[source.variable], value, `the environment variable ${source.variable}`);
    case 'file':
      return secretOf(await readSecretFile(source.path, value), value, `the file ${source.path}`);
    case 'systemdCredential':
      return credential(source.name, value, places.credentialDirectories);
    case 'exec':
    case 'http':
    case 'awsSecretsManager':
    case 'awsParameter':
      return undefined;
  }
}

async function credential(name: string, value: SecretValue, directories: readonly string[]): Promise<Secret> {
  const place = `the systemd credential ${name}`;
  // systemd.exec(5): a credential's name is a file name, so it cannot lead out of its directory.
  if (name.includes('/') || name === '' || name === '.' || name === '..') {
    throw unavailable(value, place, 'this is not a name that a credential can have');
  }
  for (const directory of directories) {
    const text = await readSecretFile(join(directory, name), value);
    if (text !== undefined) return secretOf(text, value, place);
  }
  throw unavailable(value, place, `it is in none of ${directories.join(', ')}`);
}

function secretOf(text: string | undefined, value: SecretValue, place: string): Secret {
  if (text === undefined) throw unavailable(value, place, 'it does not exist');
  if (text === '') throw unavailable(value, place, 'it is empty');
  return new Secret(text);
}

/** The text of a file without one trailing newline; undefined when it does not exist. */
async function readSecretFile(path: string, value: SecretValue): Promise<string | undefined> {
  const place = `the file ${path}`;
  let bytes: Uint8Array;
  try {
    await using file = await open(path);
    bytes = await readUpTo(file, LIMIT_BYTES + 1);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw unavailable(value, place, `it cannot be read (${code ?? 'unknown error'})`, error);
  }
  if (bytes.length > LIMIT_BYTES) throw unavailable(value, place, 'it is larger than 1 MiB');
  try {
    // The BOM stays: what a secret is made of is not ours to judge.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch {
    throw unavailable(value, place, 'it is not UTF-8 text');
  }
}

async function readUpTo(file: FileHandle, limit: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(limit);
  let length = 0;
  while (length < limit) {
    const { bytesRead } = await file.read(bytes, length, limit - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

function unavailable(value: SecretValue, place: string, why: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'SecretUnavailable',
    summary: `the secret ${value.name} cannot be had from ${place}: ${why}`,
    remedy: `Provide ${place} before machineadm runs, or change where the document takes ${value.name} from.`,
    evidence: [{ source: value.name, text: `${place}: ${why}` }],
    cause,
  });
}
