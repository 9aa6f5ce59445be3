import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { dirname } from 'node:path/posix';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  HOOKS_DIRECTORY,
  NETWORK_TRIAL,
  PRIOR_STATE_DIRECTORY,
  SEALING_KEYS_DIRECTORY,
} from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { Host, QueryHost } from '../seam/host.ts';

/**
 * Files of the state directory that may hold secrets, encrypted for this machine. A random key encrypts them
 * (AES-256-GCM; the path is authenticated with the content, so that files cannot change places). systemd-creds(1) encrypts
 * the key, with the TPM where there is one and with the host key of systemd. One key, and not systemd-creds for each file:
 * it takes at most 1 MiB, and a TPM needs a noticeable time.
 *
 * Where systemd-creds is missing or refuses, the files are plain, for root alone. Plain files of earlier versions are read.
 */
const PROGRAM = 'systemd-creds';
/** The name that systemd-creds authenticates with the key. */
const CREDENTIAL = 'machineadm-state';
const HEADER = /^machineadm sealed 1 ([0-9a-f]{32})\n/;
const HEADER_BYTES = 'machineadm sealed 1 '.length + 32 + 1;
const [KEY_BYTES, NONCE_BYTES, TAG_BYTES] = [32, 12, 16];
const COMMAND_TIMEOUT_MS = 30_000;

/** Keys that were decrypted in this process, by their encrypted text: a TPM needs a noticeable time for each. */
const OPENED = new Map<string, Uint8Array>();

/** The key that seals new files, or why there is none. */
type SealingKey = { readonly id: string; readonly key: Uint8Array } | { readonly whyPlain: string };

/** A file that is sealed where the machine can, and plain otherwise; for root alone. Atomic; durable after `sync`. */
export async function writeSealed(host: Host, path: string, content: Uint8Array | string): Promise<void> {
  const sealing = await sealingKey(host);
  const sealed = 'key' in sealing ? encrypted(path, content, sealing) : content;
  await host.writeFile({ path, content: sealed, mode: 0o600, directoryMode: 0o700 });
}

/** The content of a sealed or a plain file; undefined when it does not exist. Throws `HostStepFailed` where it cannot be decrypted. */
export async function readSealed(host: QueryHost, path: string): Promise<Uint8Array | undefined> {
  const content = await host.readFile(path);
  const id = content && keyIdOf(content);
  if (content === undefined || id === undefined) return content;
  const opened = await openKey(host, id);
  if ('whyPlain' in opened) throw unreadable(path, opened.whyPlain);
  try {
    return decrypted(path, content, opened.key);
  } catch {
    throw unreadable(path, 'it is damaged, or was moved here');
  }
}

/** The same as UTF-8 text. */
export async function readSealedText(host: QueryHost, path: string): Promise<string | undefined> {
  const content = await readSealed(host, path);
  return content && Buffer.from(content).toString('utf8');
}

/** Why a file that exists cannot be decrypted, in words; undefined: it can, or it does not exist. */
export async function whyUnreadable(host: QueryHost, path: string): Promise<string | undefined> {
  try {
    await readSealed(host, path);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** How the files of the state directory that may hold secrets are kept. Read-only. */
export interface StateAtRest {
  readonly sealed: readonly string[];
  readonly plain: readonly string[];
  /** Why each sealed file that cannot be decrypted cannot. */
  readonly unreadable: readonly string[];
  /** Why new files are plain; undefined: nothing says so before it is tried. */
  readonly whyPlain: string | undefined;
}

/** Looks at all of them. */
export async function stateAtRest(host: QueryHost): Promise<StateAtRest> {
  const [sealed, plain, lost]: [string[], string[], string[]] = [[], [], []];
  for (const path of await secretFiles(host)) {
    const id = await keyIdAt(host, path);
    (id === undefined ? plain : sealed).push(path);
    const why = id === undefined ? undefined : await whyUnreadable(host, path);
    if (why !== undefined) lost.push(why);
  }
  return { sealed, plain, unreadable: lost, whyPlain: await whyNotTried(host) };
}

/** Removes the keys that no file needs any more. Call it when nothing writes sealed files. */
export async function forgetUnusedKeys(host: Host): Promise<void> {
  const names = await keyNames(host);
  if (names.length === 0) return;
  const used = new Set<string | undefined>();
  for (const path of await secretFiles(host)) used.add(await keyIdAt(host, path));
  for (const id of names) if (!used.has(id)) await host.removeFile(keyPath(id));
}

/** Whether a file is sealed. */
export async function isSealed(host: QueryHost, path: string): Promise<boolean> {
  return (await keyIdAt(host, path)) !== undefined;
}

/** The id of the key of a sealed file; undefined for any other. */
function keyIdOf(content: Uint8Array): string | undefined {
  return HEADER.exec(Buffer.from(content.subarray(0, HEADER_BYTES)).toString('latin1'))?.[1];
}

async function keyIdAt(host: QueryHost, path: string): Promise<string | undefined> {
  return keyIdOf((await host.readRange(path, 0, HEADER_BYTES)) ?? new Uint8Array());
}

/** The files that this module writes. The key of the fingerprints beside the copies is not one of them. */
async function secretFiles(host: QueryHost): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of [HOOKS_DIRECTORY, PRIOR_STATE_DIRECTORY]) {
    for (const name of (await host.list(directory)) ?? []) {
      const path = `${directory}/${name}`;
      const isOther = directory === PRIOR_STATE_DIRECTORY && (name === 'key' || name.startsWith('file-'));
      if (!isOther && (await host.stat(path))?.type === 'file') found.push(path);
    }
  }
  return (await host.stat(NETWORK_TRIAL)) === undefined ? found : [...found, NETWORK_TRIAL];
}

function keyPath(id: string): string {
  return `${SEALING_KEYS_DIRECTORY}/${id}`;
}

async function keyNames(host: QueryHost): Promise<readonly string[]> {
  return ((await host.list(SEALING_KEYS_DIRECTORY)) ?? []).filter((name) => /^[0-9a-f]{32}$/.test(name));
}

/** Why the machine is not even asked for a key. */
async function whyNotTried(host: QueryHost): Promise<string | undefined> {
  if (host.keepsPlain !== undefined) return host.keepsPlain;
  return (await host.which(PROGRAM)) === undefined ? `${PROGRAM} (systemd 250 or later) is not installed` : undefined;
}

/** A key that can be decrypted, else a new one, which is durable before anything is sealed with it. */
async function sealingKey(host: Host): Promise<SealingKey> {
  const why = await whyNotTried(host);
  if (why !== undefined) return { whyPlain: why };
  for (const id of await keyNames(host)) {
    const opened = await openKey(host, id);
    if ('key' in opened) return { id, ...opened };
  }
  const [id, key] = [randomBytes(16).toString('hex'), randomBytes(KEY_BYTES)];
  // Without PCRs: with them an update of the firmware or of its keys would make the copies unreadable.
  const args = ['encrypt', `--name=${CREDENTIAL}`, '--tpm2-pcrs=', '-', '-'];
  const input = key.toString('base64');
  const result = await host.run({ program: PROGRAM, args, input, timeoutMs: COMMAND_TIMEOUT_MS });
  if (result.status !== 0 || result.stdout.trim() === '') return { whyPlain: refusal(result) };
  await host.writeFile({ path: keyPath(id), content: result.stdout, mode: 0o600, directoryMode: 0o700 });
  // A key that cannot be decrypted again would lose what it seals. Without a TPM, that is only a matter of the same file:
  // the program is not run a second time for it.
  if (!(await hasTpm(host))) OPENED.set(result.stdout, key);
  const opened = await openKey(host, id);
  if ('whyPlain' in opened) {
    await host.removeFile(keyPath(id));
    return opened;
  }
  await host.sync(keyPath(id));
  await host.sync(dirname(SEALING_KEYS_DIRECTORY));
  return { id, ...opened };
}

async function hasTpm(host: QueryHost): Promise<boolean> {
  return ((await host.list('/sys/class/tpm')) ?? []).length > 0;
}

async function openKey(
  host: QueryHost,
  id: string,
): Promise<{ readonly key: Uint8Array } | { readonly whyPlain: string }> {
  const text = await host.readText(keyPath(id));
  if (text === undefined) return { whyPlain: `its key ${keyPath(id)} is missing` };
  const known = OPENED.get(text);
  if (known !== undefined) return { key: known };
  const args = ['decrypt', `--name=${CREDENTIAL}`, keyPath(id)];
  const result = await host.query({ program: PROGRAM, args, timeoutMs: COMMAND_TIMEOUT_MS });
  const key = Buffer.from(result.stdout.trim(), 'base64');
  if (result.status !== 0 || key.length !== KEY_BYTES) return { whyPlain: refusal(result) };
  OPENED.set(text, key);
  return { key };
}

function refusal({ status, stderr }: { readonly status: number; readonly stderr: string }): string {
  const said = redact(lastLine(stderr));
  return `${PROGRAM} ended with status ${status}${said === '' ? '' : `: ${said}`}`;
}

function unreadable(path: string, why: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${path} is encrypted for this machine, and cannot be decrypted: ${why}`,
    remedy:
      `Restore what its key needs: ${SEALING_KEYS_DIRECTORY}, /var/lib/systemd/credential.secret and the TPM of the machine that ` +
      'wrote it. If that is gone, so is the content: remove the file.',
    evidence: [{ source: path, text: why }],
  });
}

function encrypted(
  path: string,
  content: Uint8Array | string,
  { id, key }: { readonly id: string; readonly key: Uint8Array },
): Uint8Array {
  const header = Buffer.from(`machineadm sealed 1 ${id}\n`);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(Buffer.concat([header, Buffer.from(path)]));
  const body = [cipher.update(content), cipher.final()];
  return Buffer.concat([header, nonce, cipher.getAuthTag(), ...body]);
}

function decrypted(path: string, sealed: Uint8Array, key: Uint8Array): Uint8Array {
  const bodyAt = HEADER_BYTES + NONCE_BYTES + TAG_BYTES;
  const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.concat([sealed.subarray(0, HEADER_BYTES), Buffer.from(path)]));
  decipher.setAuthTag(sealed.subarray(HEADER_BYTES + NONCE_BYTES, bodyAt));
  return Buffer.concat([decipher.update(sealed.subarray(bodyAt)), decipher.final()]);
}
