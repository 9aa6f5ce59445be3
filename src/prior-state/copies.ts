import { createHmac, createSecretKey, hash, randomBytes } from 'node:crypto';
import { PRIOR_STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { readSealed, whyUnreadable, writeSealed } from '../host/secrets/sealed-files.ts';

/** A larger file is recorded by its fingerprint only. In bytes. */
export const LARGEST_COPY = 1024 * 1024;

const KEY_PATH = `${PRIOR_STATE_DIRECTORY}/key`;

/**
 * Names a content without revealing it: keyed, because the journal is part of support bundles, and the plain digest of a
 * short secret can be guessed.
 */
export type Fingerprint = (sha256: string) => string;

/** The fingerprints of this machine; undefined before the first record. */
export async function fingerprintsOf(host: QueryHost): Promise<Fingerprint | undefined> {
  const key = await host.readFile(KEY_PATH);
  return key === undefined ? undefined : keyed(key);
}

/** The same, with a new key where there is none yet. */
export async function createFingerprints(host: Host): Promise<Fingerprint> {
  const known = await fingerprintsOf(host);
  if (known !== undefined) return known;
  const key = randomBytes(32);
  await host.writeFile({ path: KEY_PATH, content: key, mode: 0o600, directoryMode: 0o700 });
  await host.sync(KEY_PATH);
  return keyed(key);
}

/** Where the copy of a content is, whose fingerprint this is. Only root may read it. */
export function copyPath(fingerprint: string): string {
  return `${PRIOR_STATE_DIRECTORY}/${fingerprint}`;
}

/** Where a file that was there before has its second name, once its path is of another. */
export function secondName(path: string): string {
  return `${PRIOR_STATE_DIRECTORY}/file-${sha256Of(path).slice(0, 32)}`;
}

/** The content of a copy. Throws `HostStepFailed` where it cannot be decrypted. */
export async function readCopy(host: QueryHost, fingerprint: string): Promise<Uint8Array | undefined> {
  return await readSealed(host, copyPath(fingerprint));
}

/** Why a copy that is there cannot be used, in words. */
export async function whyCopyUnreadable(host: QueryHost, fingerprint: string): Promise<string | undefined> {
  return await whyUnreadable(host, copyPath(fingerprint));
}

/** Decrypts a copy where it is: what stays after a reset is for an administrator to read. */
export async function openCopy(host: Host, fingerprint: string): Promise<void> {
  const content = await readCopy(host, fingerprint);
  if (content !== undefined) await host.writeFile({ path: copyPath(fingerprint), content, mode: 0o600 });
}

/** Keeps a copy of a content. Durable after `sync`. */
export async function keepCopy(host: Host, fingerprint: string, content: Uint8Array | string): Promise<void> {
  const path = copyPath(fingerprint);
  if ((await host.stat(path)) !== undefined) return;
  await writeSealed(host, path, content);
}

/** Removes the key and all copies but these, by fingerprint. */
export async function forgetCopies(host: Host, kept: readonly string[] = []): Promise<void> {
  for (const name of (await host.list(PRIOR_STATE_DIRECTORY)) ?? []) {
    if (!kept.includes(name)) await host.removeFile(`${PRIOR_STATE_DIRECTORY}/${name}`);
  }
}

/** Lower-case hex SHA-256 of a content that is at hand. */
export function sha256Of(content: Uint8Array | string): string {
  return hash('sha256', content);
}

function keyed(key: Uint8Array): Fingerprint {
  const secret = createSecretKey(key);
  return (sha256) => createHmac('sha256', secret).update(sha256).digest('hex').slice(0, 32);
}
