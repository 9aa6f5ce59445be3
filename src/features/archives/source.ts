import { createHash } from 'node:crypto';
import {
  contentsOf,
  LIMITS,
  type ManifestEntry,
  manifestOf,
  maySelect,
  type Selection,
} from '@machineadm/archives/manifest.ts';
import { ArchiveRefusal } from '@machineadm/archives/member.ts';
import { type StoredBytes, storedBytes } from '@machineadm/archives/stored-bytes.ts';
import type { ArchiveModel, FileModel } from '@machineadm/document/model/index.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ARCHIVES_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { sourceOf, wantedContent } from '../../owned-files/content.ts';
import { download } from '../../owned-files/download.ts';
import type { Execution, StepRecord } from '../../step/index.ts';

export type FileEntry = Extract<ManifestEntry, { readonly type: 'file' }>;

/** What an archive holds, as the journal keeps it: the archive itself is not kept. */
interface Note {
  /** Of the archive. */
  readonly sha256: string;
  readonly selection: string;
  readonly entries: readonly ManifestEntry[];
}

/** The digest of an archive; undefined where it is not there yet. */
export async function digestOf(
  host: QueryHost,
  { content }: ArchiveModel,
  files: readonly FileModel[],
): Promise<string | undefined> {
  if (content.kind === 'http') return content.sha256;
  if (content.kind === 'inline') return createHash('sha256').update(content.bytes).digest('hex');
  const [now, earlier] = [await host.sha256(content.path), files.findLastIndex(({ path }) => path === content.path)];
  return earlier < 0 || (await wantedContent(host, files, earlier)).sha256 === now ? now : undefined;
}

/** What an archive holds as far as that is known without a download: it is on record, or the archive is at hand. */
export async function knownManifest(
  host: QueryHost,
  archive: ArchiveModel,
  sha256: string,
  notes: StepRecord['notes'],
): Promise<{ readonly entries: readonly ManifestEntry[]; readonly isRecorded: boolean } | undefined> {
  const noted = [...notes.values()].find((note): note is Note => isNoteOf(note, archive, sha256));
  if (noted !== undefined) return { entries: noted.entries, isRecorded: true };
  if (archive.content.kind === 'http') return undefined;
  const entries = await withStored(host, archive, (stored) => read(host, archive, stored));
  return { entries, isRecorded: false };
}

function isNoteOf(note: unknown, archive: ArchiveModel, sha256: string): note is Note {
  const isRead = isRecord(note) && note.sha256 === sha256 && Array.isArray(note.entries);
  return isRead && note.selection === keyOf(archive);
}

/** What the journal keeps of an archive that was unpacked. */
export function noteOf(archive: ArchiveModel, sha256: string, entries: readonly ManifestEntry[]): Note {
  return { sha256, selection: keyOf(archive), entries };
}

/** Gives an archive to `use`: one that is downloaded is on the disk of this machine until then. */
export async function withArchive<Result>(
  host: Host,
  archive: ArchiveModel,
  { signal }: Execution,
  use: (stored: StoredBytes) => Promise<Result>,
): Promise<Result> {
  const { content } = archive;
  if (content.kind !== 'http') return await withStored(host, archive, use);
  const at = archivePath(content.sha256);
  try {
    await download(host, content, { path: at, mode: 0o600, directoryMode: 0o700 }, signal);
    return await withStored(host, archive, use);
  } finally {
    // With what a killed run left.
    for (const name of (await host.list(ARCHIVES_DIRECTORY)) ?? [])
      await host.removeFile(`${ARCHIVES_DIRECTORY}/${name}`);
    await host.removeDirectory(ARCHIVES_DIRECTORY);
  }
}

/** What unpacking makes. Throws `ArchiveUnreadable` and `ArchiveRefused`. Ends with the run of the host. */
export async function read(
  { signal }: Pick<QueryHost, 'signal'>,
  archive: ArchiveModel,
  stored: StoredBytes,
): Promise<readonly ManifestEntry[]> {
  try {
    return await manifestOf(stored, selectionOf(archive), { ...LIMITS, signal });
  } catch (error) {
    throw named(archive, error);
  }
}

/** Writes these files, each whole. */
export async function writeContents(
  { signal }: Pick<QueryHost, 'signal'>,
  archive: ArchiveModel,
  stored: StoredBytes,
  wanted: readonly FileEntry[],
  write: (entry: FileEntry, content: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  if (wanted.length === 0) return;
  const byPath = new Map(wanted.map((entry) => [entry.path, entry]));
  try {
    for await (const { entry, content } of contentsOf(stored, selectionOf(archive), byPath, {
      ...LIMITS,
      signal,
    }))
      await write(entry, content);
  } catch (error) {
    throw named(archive, error);
  }
}

/** Whether an archive may put something at this path. What it really holds is known once it is there. */
export function mayHold(archive: ArchiveModel, path: string): boolean {
  if (archive.select.member !== undefined) return archive.path === path;
  const directory = archive.path === '/' ? '/' : `${archive.path}/`;
  return path.startsWith(directory) && maySelect(selectionOf(archive), path.slice(directory.length));
}

function selectionOf({ select, mode }: ArchiveModel): Selection {
  return { ...select, ignoresModes: mode !== undefined };
}

function keyOf(archive: ArchiveModel): string {
  return JSON.stringify(selectionOf(archive));
}

/** Gives the bytes of an archive to `use`, of a file that is open until then. */
async function withStored<Result>(
  host: QueryHost,
  archive: ArchiveModel,
  use: (stored: StoredBytes) => Promise<Result>,
): Promise<Result> {
  const { content } = archive;
  if (content.kind === 'inline') return await use(storedBytes(content.bytes));
  await using file = await host.openFile(content.kind === 'file' ? content.path : archivePath(content.sha256));
  if (file === undefined) throw named(archive, new RangeError('the file does not exist'));
  return await use(file);
}

/** Where an archive is while it is unpacked. */
function archivePath(sha256: string): string {
  return `${ARCHIVES_DIRECTORY}/${sha256}`;
}

/** Errors of the file system and the run's own keep their name; the others are about what is in the archive. */
function named(archive: ArchiveModel, error: unknown): unknown {
  if (error instanceof MachineadmError) return error;
  const source = sourceOf(archive);
  const isRefused = error instanceof ArchiveRefusal;
  const isOfZlib = error instanceof Error && 'code' in error && /^(?:Z_|ZSTD_|ERR_)/.test(String(error.code));
  if (!isRefused && !isOfZlib && !(error instanceof RangeError)) return error;
  const why = errorMessage(error);
  return new MachineadmError({
    reason: isRefused ? 'ArchiveRefused' : 'ArchiveUnreadable',
    summary: `${archive.path}: ${source} is not unpacked: ${why}`,
    remedy: isRefused
      ? 'Correct unpack (member, include, exclude, stripComponents), give "mode" where the modes of the archive are the problem, or use another archive.'
      : 'Give a tar archive, plain or compressed with gzip or zstd, or a zip archive, that is whole.',
    evidence: [{ source, text: why }],
    cause: error,
  });
}
