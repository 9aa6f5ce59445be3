import { join } from 'node:path/posix';
import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { errnoOf } from '../files/file-error.ts';
import { HttpError } from '../http/error.ts';
import { runCommand } from '../linux/commands.ts';
import { which } from '../linux/read.ts';
import { areInsecureSourcesAccepted, openSource } from '../local-files/provenance.ts';
import type { CommandResult } from '../seam/host.ts';

/** Where references without a path are looked up. */
export interface SecretPlaces {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Searched in this order for a systemd credential; a unit's own come first (systemd.exec(5), LoadCredential=). */
  readonly credentialDirectories: readonly string[];
  /** The same for encrypted ones, which only this machine's systemd-creds(1) can decrypt. */
  readonly encryptedDirectories?: readonly string[];
  /** Decrypts; undefined = this machine has no systemd-creds. */
  readonly decrypt?: (name: string, path: string) => Promise<CommandResult | undefined>;
}

/** systemd's limit for a credential: 1 MiB. */
const LIMIT_BYTES = 1024 * 1024;
const DECRYPT_MS = 30_000;

/**
 * The places of this process: its environment, its unit's credentials (systemd has decrypted those of
 * LoadCredentialEncrypted=), then the system's credential stores in the order of systemd.exec(5).
 */
function ownSecretPlaces(): SecretPlaces {
  const ofUnit = process.env.CREDENTIALS_DIRECTORY;
  const stores = ['/etc', '/run', '/usr/lib'];
  return {
    env: process.env,
    credentialDirectories: [...(ofUnit === undefined ? [] : [ofUnit]), ...stores.map((base) => `${base}/credstore`)],
    encryptedDirectories: stores.map((base) => `${base}/credstore.encrypted`),
    decrypt: decryptCredential,
  };
}

/** Only reads the key of the machine: it changes nothing (systemd-creds(1), decrypt). */
async function decryptCredential(name: string, path: string): Promise<CommandResult | undefined> {
  if ((await which('systemd-creds')) === undefined) return undefined;
  const args = ['decrypt', `--name=${name}`, path, '-'];
  return await runCommand({ program: 'systemd-creds', args, timeoutMs: DECRYPT_MS });
}

/**
 * Resolves a secret. A file's single trailing newline is removed, because editors and `echo` add one. undefined:
 * resolving it has side effects (`hasEffects`). Throws `SecretUnavailable` with the secret's name and place, never its
 * value; an empty secret counts as missing.
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
      return credential(source.name, value, places);
    case 'exec':
    case 'http':
    case 'awsSecretsManager':
    case 'awsParameter':
      return undefined;
  }
}

async function credential(name: string, value: SecretValue, places: SecretPlaces): Promise<Secret> {
  const place = `the systemd credential ${name}`;
  // systemd.exec(5): a credential's name is a file name, so it cannot lead out of its directory.
  if (name.includes('/') || name === '' || name === '.' || name === '..') {
    throw secretUnavailable(value, place, 'this is not a name that a credential can have');
  }
  const { credentialDirectories, encryptedDirectories = [] } = places;
  for (const directory of credentialDirectories) {
    const text = await readSecretFile(join(directory, name), value);
    if (text !== undefined) return secretOf(text, value, place);
  }
  for (const directory of encryptedDirectories) {
    // systemd-creds(1) writes the name of the credential with .cred or without.
    for (const path of [join(directory, name), join(directory, `${name}.cred`)]) {
      if ((await readSecretFile(path, value)) === undefined) continue;
      return secretOf(await decrypted(name, path, value, places), value, place);
    }
  }
  throw secretUnavailable(
    value,
    place,
    `it is in none of ${[...credentialDirectories, ...encryptedDirectories].join(', ')}`,
  );
}

async function decrypted(name: string, path: string, value: SecretValue, places: SecretPlaces): Promise<string> {
  const result = await places.decrypt?.(name, path);
  if (result === undefined)
    throw secretUnavailable(value, `the file ${path}`, 'it is encrypted and systemd-creds is missing');
  if (result.status !== 0) {
    const why = lastLine(redact(result.stderr));
    throw secretUnavailable(value, `the file ${path}`, `systemd-creds cannot decrypt it: ${why}`);
  }
  return result.stdout.replace(/\r?\n$/, '');
}

function secretOf(text: string | undefined, value: SecretValue, place: string): Secret {
  if (text === undefined) throw secretUnavailable(value, place, 'it does not exist');
  if (text === '') throw secretUnavailable(value, place, 'it is empty');
  return new Secret(text);
}

/** The text of a file without one trailing newline; undefined when it does not exist. */
async function readSecretFile(path: string, value: SecretValue): Promise<string | undefined> {
  const place = `the file ${path}`;
  let bytes: Uint8Array;
  let distrust: string | undefined;
  try {
    const source = await openSource(path);
    if (!areInsecureSourcesAccepted()) distrust = source.distrust;
    bytes = await readUpTo(source.pieces, LIMIT_BYTES + 1);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw secretUnavailable(value, place, `it cannot be read (${code ?? 'unknown error'})`, error);
  }
  if (bytes.length > LIMIT_BYTES) throw secretUnavailable(value, place, 'it is larger than 1 MiB');
  if (distrust !== undefined) throw secretUnavailable(value, place, `others than root could change it: ${distrust}`);
  const text = utf8Text(bytes);
  if (text === undefined) throw secretUnavailable(value, place, 'it is not UTF-8 text');
  return text.replace(/\r?\n$/, '');
}

async function readUpTo(pieces: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    read.push(piece);
    length += piece.length;
    if (length >= limit) break;
  }
  return Buffer.concat(read);
}

/** A secret is unavailable; the error names its place and never its value. */
export function secretUnavailable(
  value: SecretValue,
  place: string,
  why: string,
  cause?: unknown,
  evidence: readonly Evidence[] = [],
): MachineadmError {
  return new MachineadmError({
    reason: 'SecretUnavailable',
    summary: `the secret ${value.name} cannot be read from ${place}: ${why}`,
    remedy:
      cause instanceof HttpError
        ? cause.remedy
        : `Provide ${place} before machineadm runs, or change where the document takes ${value.name} from.`,
    evidence: [{ source: value.name, text: `${place}: ${why}` }, ...evidence],
    retryable: cause instanceof HttpError && cause.retryable,
    cause,
  });
}
