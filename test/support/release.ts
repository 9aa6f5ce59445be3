import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IMAGE_ARCHIVE, IMAGE_PROGRAM, imageArchive } from '../../scripts/image.ts';
import { type ReleaseSigner, sigstoreBundle } from '../../scripts/release/signer.ts';
import { makeRelease, type ReleaseOptions } from '../../scripts/release.ts';
import { keyId, parseKeys } from '../../src/trust/keys.ts';
import { parseManifest, type ReleaseManifest } from '../../src/trust/manifest.ts';
import type { TrustStore } from '../../src/trust/store.ts';
import type { Identity } from './api-server.ts';
import { startServer, type TestServer } from './http-servers.ts';

export interface TestKey extends ReleaseSigner {
  /** SubjectPublicKeyInfo, base64 on one line. */
  readonly publicKey: string;
  readonly pem: string;
  readonly privatePem: string;
}

/** A new ECDSA P-256 key that signs. */
export function newKey(): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...signerWith(privateKey), ...described(publicKey), privatePem: pemOf(privateKey) };
}

/** The same public key in the other two forms of its point, compressed and hybrid: SubjectPublicKeyInfo, base64. */
export function otherForms({ publicKey }: TestKey): readonly [string, string] {
  const der = Buffer.from(publicKey, 'base64');
  const [head, point] = [der.subarray(0, -65), der.subarray(-65)];
  const parity = (point.at(-1) ?? 0) % 2;
  const compressed = Buffer.concat([
    Buffer.from('3039301306072a8648ce3d020106082a8648ce3d030107032200', 'hex'),
    Buffer.from([2 + parity]),
    point.subarray(1, 33),
  ]);
  const hybrid = Buffer.concat([head, Buffer.from([6 + parity]), point.subarray(1)]);
  return [compressed.toString('base64'), hybrid.toString('base64')];
}

function signerWith(privateKey: KeyObject): ReleaseSigner {
  return {
    keyId: keyId(createPublicKey(createPrivateKey(pemOf(privateKey)))),
    sign: async (bytes) => sign('sha256', bytes, { key: privateKey, dsaEncoding: 'der' }),
  };
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function described(publicKey: KeyObject): { readonly publicKey: string; readonly pem: string } {
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** A stand-in for machineadm that says its version and what it was run with. */
export function program(version: string, body = 'echo "ran $*"'): string {
  return `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; exit; fi\n${body}\n`;
}

/** What a mirror answers in the place of a file. */
export interface ServedFile {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** What trusts a key alone. */
export function trustIn({ pem }: TestKey): TrustStore {
  return { keys: parseKeys(pem, 'key.pem'), revoked: new Set(), minimumVersion: undefined, threshold: 1 };
}

export interface TestRelease {
  readonly directory: string;
  readonly manifest: ReleaseManifest;
  readonly files: ReadonlyMap<string, Buffer>;
}

/** Writes a container image of stand-ins to where `npm run image -- --all` puts the real one. */
export function testImage(
  from: string,
  programs: Readonly<Record<string, string>>,
  origin: { readonly version: string; readonly commit: string },
): void {
  const images = Object.entries(programs).map(([architecture, text]) => ({
    architecture,
    files: { [IMAGE_PROGRAM]: { content: Buffer.from(text), mode: 0o755 } },
  }));
  const name = `machineadm:${origin.version}`;
  writeFileSync(join(from, IMAGE_ARCHIVE), imageArchive(name, images, { ...origin, createdAt: new Date(0) }));
}

/** Puts files of another content into the directory of a release, and signs its list again: a publisher that errs. */
export async function signedAgain(
  directory: string,
  signer: ReleaseSigner,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const listed = new Set(
    [...Object.keys(files), ...readdirSync(directory)].filter((name) => !/^SHA256SUMS|\.sigstore\./.test(name)),
  );
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes);
  const digest = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(directory, name)))
      .digest('hex');
  const list = Buffer.from([...listed].map((name) => `${digest(name)}  ${name}\n`).join(''));
  const signature = Buffer.from(await signer.sign(list));
  const signatures = [{ keyId: signer.keyId, signature: signature.toString('base64') }];
  writeFileSync(join(directory, 'SHA256SUMS'), list);
  writeFileSync(join(directory, 'SHA256SUMS.sig'), signature);
  writeFileSync(join(directory, 'SHA256SUMS.sigstore.json'), sigstoreBundle(list, signature, signer.keyId));
  writeFileSync(join(directory, 'SHA256SUMS.signatures.json'), JSON.stringify({ signatures }));
}

/** A release of stand-ins for amd64 and arm64, with a package for each and, where it is wished for, an image of both, below `directory`, made by the project's own release script. */
export async function testRelease(
  directory: string,
  version: string,
  signer: ReleaseSigner,
  wish: Partial<ReleaseOptions> & {
    readonly body?: string;
    readonly image?: boolean;
    readonly alsoSignedBy?: readonly ReleaseSigner[];
  } = {},
): Promise<TestRelease> {
  const from = join(directory, `built-${version}`);
  mkdirSync(from, { recursive: true });
  for (const architecture of ['amd64', 'arm64']) {
    writeFileSync(join(from, `machineadm-linux-${architecture}`), program(version, wish.body), { mode: 0o755 });
    writeFileSync(join(from, `machineadm_${version}_${architecture}.deb`), `package for ${architecture}\n`);
  }
  writeFileSync(join(from, 'LICENSES.txt'), 'licences\n');
  const { body, image = false, alsoSignedBy = [], ...rest } = wish;
  const text = program(version, body);
  if (image) testImage(from, { amd64: text, arm64: text }, { version, commit: wish.commit ?? 'test' });
  const made = await makeRelease(
    {
      from,
      to: join(directory, 'release'),
      version,
      commit: 'test',
      createdAt: new Date('2026-01-02T03:04:05Z'),
      minimumVersion: version,
      revokedKeys: [],
      ...rest,
    },
    signer,
    ...alsoSignedBy,
  );
  const manifest = parseManifest(readFileSync(join(made, 'manifest.json')));
  return {
    directory: made,
    manifest,
    files: new Map(readdirSync(made).map((name) => [name, readFileSync(join(made, name))])),
  };
}

/** Files of a release that are compressed. */
export const isArchive = (file: string): boolean => /\.(gz|xz)$/.test(file);

/** A server of a release, or of what `change` makes of it; `undefined` leaves a file as it is. With an identity it speaks TLS. */
export function serveRelease(
  { manifest: { version }, files }: TestRelease,
  change: (file: string) => ServedFile | undefined = () => undefined,
  identity?: Identity,
): Promise<TestServer> {
  return startServer(({ url = '' }) => {
    if (!url.startsWith(`/${version}/`)) return { status: 404 };
    const file = url.slice(version.length + 2);
    return change(file) ?? { body: files.get(file) ?? '', status: files.has(file) ? 200 : 404 };
  }, identity);
}

/** One bit of a file turned over. */
export function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(copy.length / 2);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/**
 * The rendered download script, so changed that it asks each location once: what a location answers is then told
 * however slow the machine is, and no deadline has to be so short that it could end before the answer comes.
 */
export function askingOnce(script: string): string {
  const once = script.replace('[ "$(left)" -le $pause ]', 'true');
  if (once === script) throw new Error('the download script ends its rounds in another way');
  return once;
}
