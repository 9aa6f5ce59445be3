import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { MachineadmError } from '../document/errors.ts';
import { type FileIdentity, identify, placeVerified } from '../host/release-files.ts';
import { type AttemptOptions, fromFirst } from './attempts.ts';
import { trustOfMirror } from './mirror.ts';
import { looksLikeWebPage, refusal } from './refusals.ts';
import { LIST, LIST_BUNDLE, LIST_SIGNATURE, MANIFEST, verifyList, verifyRelease } from './release.ts';
import { isReleaseVersion } from './release-version.ts';
import { findSigner } from './signature.ts';
import type { Source } from './source.ts';
import type { TrustStore } from './store.ts';

export interface FetchedFile extends FileIdentity {
  readonly path: string;
  /** False where it was there already. */
  readonly changed: boolean;
}

export interface Fetched {
  /** The location that gave it. */
  readonly from: string;
  readonly files: readonly FetchedFile[];
  /** The id of the key; undefined where a digest was given. */
  readonly signedBy: string | undefined;
  readonly warnings: readonly string[];
}

const MIB = 1024 * 1024;
/** Of the list and of what is about as large. */
const LIST_LIMIT = 64 * 1024;
const MANIFEST_LIMIT = MIB;
/** Of what a release has beside its archives and packages: licences, the bill of materials, the library. */
const OTHER_LIMIT = 64 * MIB;
/** Of a file whose size nobody signed: an archive of container images. */
const FILE_LIMIT = 16 * 1024 * MIB;

/**
 * Fetches a release into `to/VERSION`, as a mirror has it: each file is verified before it is there under its name, and
 * the list that says it is complete comes last. What is there and right is left alone. Throws refusals (`verifyRelease`,
 * `DigestMismatch`, `WebPageReceived`), `ReleaseUnavailable`, `VerifiedFileChanged`, `FileError`.
 */
export async function fetchRelease(
  wish: {
    readonly version: string;
    /** `linux-amd64`; undefined: every platform. */
    readonly platforms: readonly string[] | undefined;
    readonly to: string;
  },
  sources: readonly Source[],
  trust: TrustStore,
  now: Date,
  options: AttemptOptions,
): Promise<Fetched> {
  const { version, to } = wish;
  if (!isReleaseVersion(version)) throw usage(`"${version}" is not a version like 1.4.0`);
  const known = await trustOfMirror(to, trust, now);
  return fromFirst(
    sources,
    async (source, left) => {
      const where = `${source.name}/${version}`;
      const small = (file: string, limit: number) => wholeFile(source, `${version}/${file}`, limit, left);
      const list = await small(LIST, LIST_LIMIT);
      const der = await small(LIST_SIGNATURE, LIST_LIMIT);
      const manifestBytes = await small(MANIFEST, MANIFEST_LIMIT);
      const signed = { list, signature: { kind: 'der', bytes: der } as const, manifest: manifestBytes };
      const { manifest, digests, signer } = await verifyRelease(signed, version, known, now, where);
      const { platforms } = wish;
      const forOnePlatform = [...manifest.artefacts, ...manifest.packages];
      const unwanted = new Set(
        forOnePlatform
          .filter(({ os, architecture }) => platforms !== undefined && !platforms.includes(`${os}-${architecture}`))
          .map(({ file }) => file),
      );
      const files: FetchedFile[] = [];
      for (const [name, sha256] of digests) {
        if (unwanted.has(name) || name === MANIFEST) continue;
        const size = forOnePlatform.find(({ file }) => file === name)?.size;
        const open = () => source.open(`${version}/${name}`, size ?? OTHER_LIMIT, left);
        files.push(await place(join(to, version, name), { sha256, size }, open, where));
      }
      const bundle = await small(LIST_BUNDLE, LIST_LIMIT);
      await findSigner(`${where}/${LIST}`, [list], { kind: 'bundle', bytes: bundle }, known, now);
      const signedFiles = { [MANIFEST]: manifestBytes, [LIST_BUNDLE]: bundle, [LIST_SIGNATURE]: der, [LIST]: list };
      files.push(...(await placeSigned(join(to, version), signedFiles, where)));
      return { from: source.name, files, signedBy: signer.key.id, warnings: signer.warnings };
    },
    options,
  );
}

/**
 * Fetches files by name into the directory `to`: documents, archives of images. A file is verified by its digest where
 * one is given, else by the signed SHA256SUMS that lies beside it. A name that ends in `/` is all that such a list names,
 * with the list: what is fetched so can be fetched from. Throws as `fetchRelease` does.
 */
export async function fetchFiles(
  wish: { readonly names: readonly string[]; readonly sha256: string | undefined; readonly to: string },
  sources: readonly Source[],
  trust: TrustStore,
  now: Date,
  options: AttemptOptions,
): Promise<Fetched> {
  const { names, sha256, to } = wish;
  for (const name of names) {
    if (!/^[A-Za-z0-9][\w.+-]*(\/[A-Za-z0-9][\w.+-]*)*\/?$/.test(name)) throw usage(`"${name}" is not a plain name`);
  }
  if (
    sha256 !== undefined &&
    (names.some((name) => name.endsWith('/')) || names.length !== 1 || !/^[0-9a-f]{64}$/.test(sha256))
  ) {
    throw usage('--sha256 takes 64 lower-case hexadecimal digits, for one file');
  }
  return fromFirst(
    sources,
    async (source, left) => {
      const files: FetchedFile[] = [];
      const warnings = new Set<string>();
      let signedBy: string | undefined;
      for (const name of names) {
        const directory = name
          .split('/')
          .slice(0, -1)
          .map((part) => `${part}/`)
          .join('');
        const file = name.slice(directory.length);
        const where = `${source.name}/${directory}`.replace(/\/$/, '');
        const keep = async (into: string, name: string, digest: string) => {
          const open = () => source.open(directory + name, FILE_LIMIT, left);
          files.push(await place(join(into, name), { sha256: digest, size: undefined }, open, where));
        };
        if (sha256 !== undefined) {
          await keep(to, file, sha256);
          continue;
        }
        const list = await wholeFile(source, directory + LIST, LIST_LIMIT, left);
        const bytes = await wholeFile(source, directory + LIST_SIGNATURE, LIST_LIMIT, left);
        const { digests, signer } = await verifyList(list, { kind: 'der', bytes }, trust, now, where);
        for (const warning of signer.warnings) warnings.add(warning);
        signedBy = signer.key.id;
        if (file === '') {
          for (const [listed, digest] of digests) await keep(join(to, directory), listed, digest);
          files.push(...(await placeSigned(join(to, directory), { [LIST_SIGNATURE]: bytes, [LIST]: list }, where)));
          continue;
        }
        const digest = digests.get(file);
        if (digest === undefined) throw refusal('DigestMismatch', `the signed ${where}/${LIST} has no ${file}`);
        await keep(to, file, digest);
      }
      return { from: source.name, files, signedBy, warnings: [...warnings] };
    },
    options,
  );
}

/** What was held in memory to verify it; the list last, because a mirror that has it has the rest. */
async function placeSigned(
  directory: string,
  files: Readonly<Record<string, Uint8Array>>,
  where: string,
): Promise<FetchedFile[]> {
  const placed: FetchedFile[] = [];
  for (const [name, bytes] of Object.entries(files)) {
    placed.push(await place(join(directory, name), identityOf(bytes), () => once(bytes), where));
  }
  return placed;
}

async function place(
  path: string,
  wanted: { readonly sha256: string; readonly size: number | undefined },
  open: () => AsyncIterable<Uint8Array>,
  where: string,
): Promise<FetchedFile> {
  const there = await identify(path);
  if (there?.sha256 === wanted.sha256) return { ...there, path, changed: false };
  let head: Uint8Array = new Uint8Array(0);
  const noted = async function* () {
    for await (const piece of open()) {
      if (head.length === 0) head = piece.subarray(0, 256);
      yield piece;
    }
  };
  const accept = (found: FileIdentity): void => {
    if (found.sha256 === wanted.sha256) return;
    const name = basename(path);
    if (looksLikeWebPage(head)) throw refusal('WebPageReceived', `${where}/${name} is a web page`);
    const size = wanted.size === undefined ? `${found.size}` : `${found.size} of ${wanted.size}`;
    throw refusal('DigestMismatch', `${where}/${name} is not the file that is known: ${size} bytes came`, [
      { source: `${where}/${name}`, text: `SHA-256 ${found.sha256}, not ${wanted.sha256}` },
    ]);
  };
  return { ...(await placeVerified(path, noted(), accept)), path, changed: true };
}

async function wholeFile(
  source: Source,
  file: string,
  limit: number,
  left: { readonly ms: number },
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source.open(file, limit, left)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function identityOf(bytes: Uint8Array): FileIdentity {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function usage(problem: string): MachineadmError {
  return new MachineadmError({
    reason: 'DownloadInvalid',
    summary: problem,
    remedy: 'See machineadm fetch --help.',
  });
}
