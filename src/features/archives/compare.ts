import { posix } from 'node:path';
import { linkFollower } from '@machineadm/archives/links.ts';
import type { ManifestEntry } from '@machineadm/archives/manifest.ts';
import type { ArchiveModel, Model } from '@machineadm/document/model/index.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import { canonicalPath, collisionsOf } from '@machineadm/document/ownership/collisions.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { freeBytes } from '../../block-devices/free-space.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { scopeOf, sourceOf } from '../../owned-files/content.ts';
import { type Obstacle, placeObstacle } from '../../owned-files/obstacles.ts';
import type { StepRecord, UnmetRequirement } from '../../step/index.ts';
import { isAt } from '../../step/wants.ts';

/** The entries of an archive, and how the machine differs from them. */
export interface Comparison {
  /** What is to be made or corrected. */
  readonly different: readonly Different[];
  readonly obstacles: readonly Obstacle[];
}

export interface Different {
  readonly entry: ManifestEntry;
  readonly what: string;
  /** True where more than the mode and the owner differ. */
  readonly isContent: boolean;
}

/** The path to which an entry of an archive is unpacked. */
export function placeOf({ path }: ArchiveModel, entry: Pick<ManifestEntry, 'path'>): string {
  return entry.path === '' ? path : `${path === '/' ? '' : path}/${entry.path}`;
}

/** The mode that a file gets. */
export function modeOf(archive: ArchiveModel, entry: ManifestEntry): number {
  return entry.type === 'file' ? (archive.mode ?? entry.mode) : archive.directoryMode;
}

/** Compares the machine with the entries of an archive. Directories that no run made keep their mode and owner. */
export async function compare(
  host: QueryHost,
  archive: ArchiveModel,
  entries: readonly ManifestEntry[],
  owned: StepRecord['owned'],
): Promise<Comparison> {
  const [uid, gid] = [await host.userId(archive.user), await host.groupId(archive.group)];
  const different: Different[] = [];
  const obstacles: Obstacle[] = [];
  const scope = scopeOf(archive);
  const root = await host.realPath(`${archive.path}/x`);
  const leadsOut = linksOf(host, archive, entries, root.slice(0, -'/x'.length) || '/');
  const directory = archive.select.member === undefined ? [{ path: '', type: 'directory' } as const] : [];
  for (const entry of [...directory, ...entries]) {
    const path = placeOf(archive, entry);
    const refuse = (why: string, remedy: string): void => {
      obstacles.push({ path, scope, reason: 'FileNotWritten', what: `${path}: ${why}`, remedy });
    };
    const known = owned.get(path);
    const there = await placeObstacle(host, path, [entry.type], 'host.files');
    const isOurLink = known?.type === 'link' && known.target === (await host.readLink(path));
    if (there !== undefined && !isOurLink) obstacles.push({ ...there, scope });
    if (entry.path !== '' && !isAt(await host.realPath(path), root.slice(0, -'/x'.length) || '/')) {
      refuse(`a link on this machine leads out of ${archive.path}`, 'Remove the link, or unpack to where it leads.');
    }
    if (entry.type === 'symlink' && (await leadsOut(entry.path, entry.target))) {
      refuse(`a link on this machine turns this link, to ${entry.target}, out of ${archive.path}`, 'Remove that link.');
    }
    const stat = there === undefined || isOurLink ? await host.stat(path) : undefined;
    const add = (what: string, isContent: boolean): void => {
      different.push({ entry, what, isContent });
    };
    if (stat === undefined) {
      add('create', true);
      continue;
    }
    if (entry.type === 'symlink') {
      const target = await host.readLink(path);
      if (target === entry.target) continue;
      if (known === undefined) refuse(`a link to ${target} is there, which machineadm did not make`, 'Remove it.');
      add(`link to ${target} -> ${entry.target}`, true);
      continue;
    }
    const isFile = entry.type === 'file';
    if (!isFile && known?.type !== 'directory') continue;
    if (isFile && (stat.type !== 'file' || (await host.sha256(path)) !== entry.sha256)) add('content', true);
    else if (isFile && known?.type === 'file' && known.stamp === undefined) add('a run was killed in it', true);
    const mode = modeOf(archive, entry);
    if (stat.mode !== mode) add(`mode ${formatMode(stat.mode)} -> ${formatMode(mode)}`, false);
    if (stat.uid !== uid || stat.gid !== gid) add(`owner -> ${archive.user}:${archive.group}`, false);
  }
  return { different, obstacles: [...obstacles, ...(await spaceObstacle(host, archive, different))] };
}

/** Follows links of an archive through each other, and through those that are on the machine. */
function linksOf(
  host: QueryHost,
  archive: ArchiveModel,
  entries: readonly ManifestEntry[],
  root: string,
): ReturnType<typeof linkFollower> {
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  return linkFollower(async (path) => {
    const entry = known.get(path);
    if (entry !== undefined) return entry.type === 'symlink' ? entry.target : undefined;
    const target = await host.readLink(placeOf(archive, { path }));
    if (target === undefined || !target.startsWith('/') || !isAt(target, root)) return target;
    return posix.relative(posix.dirname(`${root}/${path}`), target);
  });
}

/** Other parts of the document that manage what an archive holds, and other archives that hold the same. */
export async function claimObstacles(
  model: Model,
  manifests: ReadonlyMap<ArchiveModel, readonly ManifestEntry[]>,
): Promise<readonly UnmetRequirement[]> {
  // Loaded here: it brings the schema library, which commands that read no document do without.
  const { claimsOf } = await import('@machineadm/document/claims/index.ts');
  const ours = [...manifests].flatMap(([archive, entries]) =>
    entries.flatMap((entry): readonly Claim[] => {
      const claim = { step: 'archives', field: ['host', 'files', archive.at], path: placeOf(archive, entry) } as const;
      return entry.type === 'directory' ? [] : [{ ...claim, kind: 'file' }];
    }),
  );
  const known = new Set(ours.map(({ path }) => canonicalPath(path)));
  const others = claimsOf(model).filter(({ step, path }) => step !== 'archives' || !known.has(canonicalPath(path)));
  return collisionsOf([...others, ...ours])
    .filter(({ first, second }) => first.step === 'archives' || second.step === 'archives')
    .map(({ first, second }) => {
      const [own, other] = second.step === 'archives' ? [second, first] : [first, second];
      const by = other.field.length === 0 ? 'machineadm itself' : (other.field[0] ?? '');
      return {
        reason: 'PathClaimedTwice' as const,
        what: `${own.path} is in an archive, and ${other.path} is managed by ${other.step === 'archives' ? 'another one' : `the step ${other.step} (${by})`}`,
        remedy: 'Exclude it from the archive (unpack.exclude), or remove the other entry.',
        field: `host.files[${own.field[2]}]`,
        certain: true as const,
      };
    });
}

async function spaceObstacle(
  host: QueryHost,
  archive: ArchiveModel,
  different: readonly Different[],
): Promise<readonly Obstacle[]> {
  const sizes = different.map(({ entry, isContent }) => (entry.type === 'file' && isContent ? entry.size : 0));
  const needed = sizes.reduce((sum, size) => sum + size, 0);
  const free = needed === 0 ? undefined : await freeBytes(host, archive.path);
  if (free === undefined || free >= needed) return [];
  const what = `${archive.path}: ${sourceOf(archive)} needs ${mebibytes(needed)}, and ${mebibytes(free)} are free`;
  const remedy = `Free space on the file system of ${archive.path}, or mount a larger one (host.storage.mounts).`;
  return [{ path: archive.path, scope: scopeOf(archive), reason: 'DiskFull', what, remedy }];
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`;
}
