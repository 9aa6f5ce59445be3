import { basename } from 'node:path/posix';
import { type ArchiveImage, archiveImages } from '@machineadm/archives/images.ts';
import type { ImageArchive } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import {
  type ArchiveFile,
  fingerprint,
  openArchive,
  tarSource,
  tarStream,
} from '../../container-runtime/image-archive-file.ts';
import {
  archivesAbsent,
  checkDigest,
  explaining,
  importFailed,
  unreadable,
} from '../../container-runtime/image-failures.ts';
import { ctrArguments, isPresent, untilPresent } from '../../container-runtime/image-presence.ts';
import { redactedRequest } from '../../host/http/client.ts';
import type { CommandResult, Host, QueryHost } from '../../host/seam/host.ts';
import { download } from '../../owned-files/download.ts';
import type { Execution } from '../../step/index.ts';

/** The directory of downloads until they are imported, by digest. */
export const DOWNLOADS_DIRECTORY = `${STATE_DIRECTORY}/images`;
/** Larger files are not image archives: the largest known ones (machine learning frameworks) have about 20 GiB. */
const DOWNLOAD_LIMITS = { bytes: 64 * 1024 * 1024 * 1024, retryBudgetMs: 5 * 60_000 };

export interface ImportSite {
  readonly socket: string;
  /** Go's name: amd64. */
  readonly architecture: string;
  /** Arguments of `ctr images import` in addition to the file. */
  readonly unpackArguments: readonly string[];
}

/** The content of an archive, and how to recognise the same archive. */
export interface ArchiveNote {
  readonly fingerprint: string;
  readonly images: readonly ArchiveImage[];
}

/** An archive's name for messages: its path, or its URL without possible tokens. */
export function archiveName(archive: ImageArchive): string {
  return archive.kind === 'file' ? archive.path : redactedRequest('', archive.url).trim();
}

/** Stable, and without possible tokens. */
export function archiveChangeId(archive: ImageArchive): string {
  if (archive.kind === 'file') return archive.path.startsWith('/') ? `images${archive.path}` : `images/${archive.path}`;
  return `images/${archive.sha256.slice(0, 12)}/${basename(new URL(archive.url).pathname)}`;
}

/** `node` where the request may need a secret: an image bake has none. */
export function archiveScope(archive: ImageArchive): 'base' | 'node' {
  if (archive.kind === 'file') return 'base';
  return Object.keys(archive.headers).length === 0 && new URL(archive.url).search === '' ? 'base' : 'node';
}

/**
 * The content of an archive, by reading only: undefined where it does not exist (now), or not on this machine. For a
 * compressed archive, and one that was downloaded or removed since, the record of its import counts.
 */
export async function inspectArchive(
  host: QueryHost,
  archive: ImageArchive,
  architecture: string,
  note: ArchiveNote | undefined,
): Promise<readonly ArchiveImage[] | undefined> {
  if (archive.kind === 'http') return note?.fingerprint === archive.sha256 ? note.images : undefined;
  const { path, sha256 } = archive;
  return explaining(host, path, sha256, async () => {
    await using file = await openArchive(host, path);
    // An archive may be deleted to free its space once its images are imported.
    if (file === undefined) return note?.images;
    const isSame = file.compression !== 'none' && note?.fingerprint === (await fingerprint(file));
    return isSame ? note.images : await archiveImages(tarSource(file, host.signal), path, architecture);
  });
}

/**
 * Imports an archive and waits until CRI shows its images. Its digest is verified before containerd gets a byte of it.
 *
 * @param known what inspection found in it; undefined where it could not be read
 * @returns its record
 * @throws MachineadmError `ImageArchiveUnreadable`, `ImagePlatformMismatch`, `DiskFull`, `DownloadFailed`
 */
export async function importArchive(
  host: Host,
  archive: ImageArchive,
  site: ImportSite,
  known: readonly ArchiveImage[] | undefined,
  execution: Execution,
): Promise<ArchiveNote> {
  // Reports more clearly than ctr that nothing listens.
  await host.cri(site.socket).version();
  try {
    if (archive.kind === 'file') return await importFile(host, archive, site, known, execution);
    return await importDownload(host, archive, site, execution);
  } finally {
    execution.waitingFor(undefined);
  }
}

/** Downloads of killed runs that the document no longer needs. The next import resumes or replaces the others. */
export async function leftDownloads(host: QueryHost, archives: readonly ImageArchive[]): Promise<readonly string[]> {
  const names = (await host.list(DOWNLOADS_DIRECTORY)) ?? [];
  const isAsked = (name: string) => archives.some((one) => one.kind === 'http' && name.includes(one.sha256));
  return names.filter((name) => !isAsked(name)).map((name) => `${DOWNLOADS_DIRECTORY}/${name}`);
}

/** Throws `ImageArchiveUnreadable` with every missing archive, before the first import. */
export async function requireArchives(host: QueryHost, archives: readonly ImageArchive[]): Promise<void> {
  const absent: string[] = [];
  for (const archive of archives) {
    if (archive.kind === 'file' && (await host.stat(archive.path)) === undefined) absent.push(archive.path);
  }
  if (absent.length > 0) throw archivesAbsent(absent);
}

async function importFile(
  host: Host,
  { path, sha256 }: Pick<Extract<ImageArchive, { readonly kind: 'file' }>, 'path' | 'sha256'>,
  site: ImportSite,
  known: readonly ArchiveImage[] | undefined,
  execution: Execution,
): Promise<ArchiveNote> {
  await using file = await explaining(host, path, sha256, () => openArchive(host, path));
  if (file === undefined) throw archivesAbsent([path]);
  if (sha256 !== undefined) {
    execution.waitingFor(`the digest of ${path}`);
    // Of the same open file that is read and imported below.
    await checkDigest(file.bytes, path, sha256);
  }
  const images =
    known ??
    (await explaining(file.bytes, path, sha256, () =>
      archiveImages(tarSource(file, execution.signal), path, site.architecture),
    ));
  execution.waitingFor(`the import of ${path}`);
  await runImport(host, file, site, execution);
  await untilPresent(host, site, execution, (present) => images.every((image) => isPresent(present, image)));
  return { fingerprint: await fingerprint(file), images };
}

async function importDownload(
  host: Host,
  archive: Extract<ImageArchive, { readonly kind: 'http' }>,
  site: ImportSite,
  execution: Execution,
): Promise<ArchiveNote> {
  const { sha256 } = archive;
  const path = `${DOWNLOADS_DIRECTORY}/${sha256}`;
  // Left by a run that was killed after the download.
  if ((await host.sha256(path)) !== sha256) {
    execution.waitingFor(`the download of ${archiveName(archive)}`);
    const file = { path, mode: 0o600, directoryMode: 0o700 };
    await download(host, archive, file, execution.signal, DOWNLOAD_LIMITS);
  }
  try {
    // Its digest was verified during the download.
    const { images } = await importFile(host, { path, sha256: undefined }, site, undefined, execution);
    return { fingerprint: sha256, images };
  } finally {
    await host.removeFile(path);
  }
}

async function runImport(host: Host, file: ArchiveFile, site: ImportSite, execution: Execution): Promise<void> {
  // An error of the source also ends ctr, which then reports something else.
  let broken: unknown;
  async function* input(): AsyncGenerator<Uint8Array> {
    try {
      yield* tarStream(file);
    } catch (error) {
      broken = error;
      throw error;
    }
  }
  let result: CommandResult | undefined;
  try {
    result = await host.run({
      program: 'ctr',
      args: [...ctrArguments(site), 'images', 'import', ...site.unpackArguments, '-'],
      input: file.compression === 'none' ? file.bytes : input(),
      signal: execution.signal,
      // The import of a killed run would continue beside the next one.
      supervised: true,
      onLine: (_stream, line) => execution.output('ctr', line),
    });
  } catch (error) {
    if (broken === undefined || execution.signal.aborted) throw error;
  }
  if (broken !== undefined) throw unreadable(file.path, errorMessage(broken), broken);
  if (result !== undefined && result.status !== 0) throw importFailed(file.path, result);
}
