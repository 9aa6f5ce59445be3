import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { type FileIdentity, identify, placeVerified } from '../host/local-files/release-files.ts';
import { type AttemptOptions, tryInOrder } from './attempts.ts';
import { DIRECTORY_MANIFEST, type VerifiedDirectory, verifyDirectory } from './directory.ts';
import { followRoots } from './follow-roots.ts';
import { extendTrustMemory, readTrustMemory, type TrustMemory, withMemory } from './memory.ts';
import { trustOfMirror } from './mirror.ts';
import { verifyProvenance } from './provenance.ts';
import { looksLikeWebPage, refusal, usageOf } from './refusals.ts';
import {
  LIST,
  LIST_BUNDLE,
  LIST_SIGNATURE,
  LIST_SIGNATURES,
  MANIFEST,
  PROVENANCE,
  PROVENANCE_BUNDLE,
  signedSize,
  UNSIZED_LIMIT,
  verifyRelease,
} from './release.ts';
import { isReleaseVersion } from './release-version.ts';
import { findSigner } from './signature.ts';
import type { Source } from './source.ts';
import type { TrustStore } from './store.ts';

/** The trusted keys, and where this machine records what it has verified. */
export interface Trusted {
  readonly trust: TrustStore;
  /** Path of the record; see `memory.ts`. */
  readonly memoryPath: string;
}

export interface FetchedFile extends FileIdentity {
  readonly path: string;
  /** False where the file was already there. */
  readonly changed: boolean;
}

export interface Fetched {
  /** The location that served it. */
  readonly from: string;
  readonly files: readonly FetchedFile[];
  /** The id of the key; undefined where a digest was given. */
  readonly signedBy: string | undefined;
  readonly warnings: readonly string[];
}

const MIB = 1024 * 1024;
/** Limit for the list and for files of similar size. */
const LIST_LIMIT = 64 * 1024;
const MANIFEST_LIMIT = MIB;
/** Limit for a file whose size is not signed: an archive of container images. */
const FILE_LIMIT = 16 * 1024 * MIB;

/**
 * Fetches a release into `to/VERSION`, in the layout of a mirror. Each file is verified before it appears under its
 * name; the list that marks the release as complete is written last. Files that are already there and correct are left
 * alone. Throws refusals (`verifyRelease`, `DigestMismatch`, `WebPageReceived`), `ReleaseUnavailable`,
 * `VerifiedFileChanged`, `FileError`.
 */
export async function fetchRelease(
  wish: {
    readonly version: string;
    /** `linux-amd64`; undefined: every platform. */
    readonly platforms: readonly string[] | undefined;
    readonly to: string;
  },
  sources: readonly Source[],
  trusted: Trusted,
  now: Date,
  options: AttemptOptions,
): Promise<Fetched> {
  const { version, to } = wish;
  if (!isReleaseVersion(version)) throw usageOf('fetch', `"${version}" is not a version like 1.4.0`);
  return tryInOrder(
    sources,
    async (source, left) => {
      const { trust: known } = await trustFor(source, to, trusted, now, left);
      const where = `${source.name}/${version}`;
      const small = (file: string, limit: number) => wholeFile(source, `${version}/${file}`, limit, left);
      const { list, signature, placed } = await signedList(source, `${version}/`, known, left, now);
      const manifestBytes = await small(MANIFEST, MANIFEST_LIMIT);
      const signed = { list, signature, manifest: manifestBytes };
      const { manifest, digests, signer } = await verifyRelease(signed, version, known, now, where);
      const { platforms } = wish;
      const forPlatforms = [...manifest.artefacts, ...manifest.packages];
      const isAsked = ({ os, architecture }: (typeof forPlatforms)[number]): boolean =>
        platforms === undefined || platforms.includes(`${os}-${architecture}`);
      const files: FetchedFile[] = [];
      for (const [name, sha256] of digests) {
        // A container image supports several platforms. An entry without a platform is for all of them.
        const named = forPlatforms.filter(({ file }) => file === name);
        if (name === MANIFEST || (named.length > 0 && !named.some(isAsked))) continue;
        const size = signedSize(manifest, name);
        const open = () => source.open(`${version}/${name}`, size ?? UNSIZED_LIMIT, left);
        files.push(await place(join(to, version, name), { sha256, size }, open, where));
      }
      const provenance = digests.has(PROVENANCE) ? await small(PROVENANCE_BUNDLE, MANIFEST_LIMIT) : undefined;
      if (provenance !== undefined)
        await verifyProvenance(provenance, digests, known, now, `${where}/${PROVENANCE_BUNDLE}`);
      const statement = provenance === undefined ? {} : { [PROVENANCE_BUNDLE]: provenance };
      const signedFiles = { [MANIFEST]: manifestBytes, ...statement, ...placed, [LIST]: list };
      files.push(...(await placeSigned(join(to, version), signedFiles, where)));
      const { revokedKeys: revoked, minimumVersion } = manifest;
      await extendTrustMemory(trusted.memoryPath, { revoked, minimumVersion });
      return { from: source.name, files, signedBy: signer.key.id, warnings: signer.warnings };
    },
    options,
  );
}

/**
 * Fetches files by name into the directory `to`: documents, archives of images. A file is verified by its digest where
 * one is given, otherwise by its signed directory. A name that ends in `/` stands for all files in that directory's
 * list, and the list itself: the result can serve as a source again. Throws as `fetchRelease` and `verifyDirectory` do.
 */
export async function fetchFiles(
  wish: { readonly names: readonly string[]; readonly sha256: string | undefined; readonly to: string },
  sources: readonly Source[],
  trusted: Trusted,
  now: Date,
  options: AttemptOptions,
): Promise<Fetched> {
  const { names, sha256, to } = wish;
  for (const name of names) {
    if (!/^[A-Za-z0-9][\w.+-]*(\/[A-Za-z0-9][\w.+-]*)*\/?$/.test(name))
      throw usageOf('fetch', `"${name}" is not a plain name`);
  }
  if (
    sha256 !== undefined &&
    (names.some((name) => name.endsWith('/')) || names.length !== 1 || !/^[0-9a-f]{64}$/.test(sha256))
  ) {
    throw usageOf('fetch', '--sha256 takes 64 lower-case hexadecimal digits, for one file');
  }
  return tryInOrder(
    sources,
    async (source, left) => {
      const keep = (into: string, directory: string, file: string, digest: string) =>
        place(
          join(into, file),
          { sha256: digest, size: undefined },
          () => source.open(directory + file, FILE_LIMIT, left),
          nameOf(source, directory),
        );
      if (sha256 !== undefined) {
        const [name = ''] = names;
        const { directory, file } = split(name);
        const files = [await keep(to, directory, file, sha256)];
        return { from: source.name, files, signedBy: undefined, warnings: [] };
      }
      const files: FetchedFile[] = [];
      // One list for all files of a directory, so that all of them are of the same state.
      const lists = new Map<string, ListedDirectory>();
      for (const name of names) {
        const { directory, file } = split(name);
        const listed = lists.get(directory) ?? (await listedDirectory(source, directory, to, trusted, now, left));
        lists.set(directory, listed);
        const { verified, signedFiles } = listed;
        if (file === '') {
          const into = join(to, directory);
          for (const [one, digest] of verified.digests) {
            if (one !== DIRECTORY_MANIFEST) files.push(await keep(into, directory, one, digest));
          }
          files.push(...(await placeSigned(into, signedFiles, nameOf(source, directory))));
          continue;
        }
        const digest = verified.digests.get(file);
        if (digest === undefined) {
          throw refusal('DigestMismatch', `the signed ${nameOf(source, directory)}/${LIST} has no ${file}`);
        }
        files.push(await keep(to, directory, file, digest));
      }
      const all = [...lists.values()].map(({ verified }) => verified);
      await extendTrustMemory(trusted.memoryPath, {
        directories: all.flatMap(({ manifest: { place, version }, signer, sha256 }) =>
          signer.keys.map(({ id: key }) => ({ place, key, version, sha256 })),
        ),
        revoked: all.flatMap(({ manifest }) => manifest.revokedKeys),
      });
      const warnings = [...new Set(all.flatMap((one) => one.warnings))];
      return { from: source.name, files, signedBy: all.at(-1)?.signer.key.id, warnings };
    },
    options,
  );
}

/** A verified directory, with the files that let others verify it. */
interface ListedDirectory {
  readonly verified: VerifiedDirectory;
  readonly signedFiles: Readonly<Record<string, Uint8Array>>;
}

async function listedDirectory(
  source: Source,
  directory: string,
  to: string,
  trusted: Trusted,
  now: Date,
  left: { readonly ms: number },
): Promise<ListedDirectory> {
  const { trust, memory } = await trustFor(source, to, trusted, now, left);
  const { list, signature, placed } = await signedList(source, directory, trust, left, now);
  const where = nameOf(source, directory);
  const manifest = () => wholeFile(source, directory + DIRECTORY_MANIFEST, MANIFEST_LIMIT, left);
  const path = `${source.path}/${directory}`;
  const verified = await verifyDirectory({ list, signature, manifest }, path, trust, memory, now, where);
  return { verified, signedFiles: { [DIRECTORY_MANIFEST]: verified.bytes, ...placed, [LIST]: list } };
}

/** The trust for one source: what this machine trusts, with the roots that the source adds, minus what it, the mirror and the source have seen revoked. */
async function trustFor(
  source: Source,
  to: string,
  { trust, memoryPath }: Trusted,
  now: Date,
  left: { readonly ms: number },
): Promise<{ readonly trust: TrustStore; readonly memory: TrustMemory }> {
  const { directory } = source;
  const memory = await readTrustMemory(memoryPath);
  const followed = await followRoots(source, trust, memory, memoryPath, left);
  const learned = await trustOfMirror(to, withMemory(followed, memory), now);
  return { trust: directory === undefined ? learned : await trustOfMirror(directory, learned, now), memory };
}

/**
 * A list with its signatures. Signatures in other formats, for other programs, are only kept if they verify. Throws the
 * errors of `findSigner`.
 */
async function signedList(
  source: Source,
  directory: string,
  trust: TrustStore,
  left: { readonly ms: number },
  now: Date,
) {
  const whole = (name: string) => wholeFile(source, directory + name, LIST_LIMIT, left);
  const list = await whole(LIST);
  if (looksLikeWebPage(list)) throw refusal('WebPageReceived', `${nameOf(source, directory)}/${LIST} is a web page`);
  const bytes = await whole(LIST_SIGNATURES);
  const forOthers = { [LIST_BUNDLE]: await whole(LIST_BUNDLE), [LIST_SIGNATURE]: await whole(LIST_SIGNATURE) };
  for (const [name, one] of Object.entries(forOthers)) {
    const signature = { kind: name === LIST_BUNDLE ? 'bundle' : 'der', bytes: one } as const;
    await findSigner(`${nameOf(source, directory)}/${LIST}`, [list], signature, { ...trust, threshold: 1 }, now);
  }
  return { list, signature: { kind: 'set', bytes } as const, placed: { ...forOthers, [LIST_SIGNATURES]: bytes } };
}

function split(name: string): { readonly directory: string; readonly file: string } {
  const directory = name.slice(0, name.lastIndexOf('/') + 1);
  return { directory, file: name.slice(directory.length) };
}

function nameOf(source: Source, directory: string): string {
  return `${source.name}/${directory}`.replace(/\/$/, '');
}

/** Files that were kept in memory to verify them. The list is written last: it marks a complete mirror. */
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
