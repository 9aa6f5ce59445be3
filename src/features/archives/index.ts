import { posix } from 'node:path';
import type { ManifestEntry } from '@machineadm/archives/manifest.ts';
import type { StoredBytes } from '@machineadm/archives/stored-bytes.ts';
import type { ArchiveModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import type { FileStat, Host, QueryHost } from '../../host/seam/host.ts';
import { scopeOf, sourceOf } from '../../owned-files/content.ts';
import { accountsMadeBy, NO_ACCOUNTS, type Obstacle, obstructed, ownerObstacles } from '../../owned-files/obstacles.ts';
import { whyKept } from '../../owned-files/owned-places.ts';
import { requestsPath } from '../../owned-files/requested-paths.ts';
import { programsAt } from '../../step/brought-programs.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import {
  type Change,
  EMPTY_RECORD,
  type Execution,
  owing,
  type StepRecord,
  type UnmetRequirement,
} from '../../step/index.ts';
import { isAt } from '../../step/wants.ts';
import { type Comparison, claimObstacles, compare, type Different, modeOf, placeOf } from './compare.ts';
import {
  digestOf,
  type FileEntry,
  knownManifest,
  mayHold,
  noteOf,
  read,
  withArchive,
  writeContents,
} from './source.ts';

/** So many paths of an archive are named in a plan. */
const MOST_SHOWN = 3;

interface Inspected {
  readonly archive: ArchiveModel;
  /** undefined: it is not there yet. */
  readonly sha256: string | undefined;
  /** undefined: what it holds is known once it is there. */
  readonly comparison: Comparison | undefined;
  readonly obstacles: readonly Obstacle[];
}

/** What an earlier archive held, and none of the document does now. */
interface Left {
  readonly path: string;
  readonly type: FileStat['type'];
  /** Why it stays, and is the machine's from now on. */
  readonly kept: string | undefined;
}

export interface ArchivesActual {
  readonly archives: readonly Inspected[];
  readonly left: readonly Left[];
  /** What each archive makes, as far as it is known. */
  readonly manifests: Map<ArchiveModel, readonly ManifestEntry[]>;
  /** Those of them that the journal knows. */
  readonly recorded: ReadonlySet<ArchiveModel>;
  readonly owned: StepRecord['owned'];
}

export type ArchivesPayload =
  | { readonly left: Left }
  | { readonly inspected: Inspected; readonly actual: ArchivesActual; readonly model: Model };

/**
 * Archives of the document, unpacked. All of their contents are checked before anything is written; the journal keeps
 * it with the digests of all files, so that the machine is compared with it when the archive is long gone.
 */
export const archives: FeatureStep<Model, ArchivesActual, ArchivesPayload> = {
  id: 'archives',
  section: 'host.files',
  isRequested: requestsPath,
  owned: ({ host }) => host.archives.flatMap(({ path }) => [path, `${path}/`]),

  desired: (model) => (model.host.archives.length === 0 ? undefined : model),

  programs: {
    brings: ({ host }) => programsAt((program) => host.archives.some((archive) => mayHold(archive, program))),
  },

  async preflight(host, model, record) {
    if (model.host.hooks.early !== undefined) return [];
    const { archives, manifests } = await inspect(host, model, { ...EMPTY_RECORD, ...record });
    const found = archives.flatMap((one): readonly UnmetRequirement[] =>
      obstaclesOf(one).map((obstacle) => ({ ...obstacle, change: idOf(model, one.archive) })),
    );
    return [...found, ...(await claimObstacles(model, manifests))];
  },

  secrets: ({ host }) => secretsIn(host.archives),

  inspect,

  plan(model, actual) {
    const unpacked = actual.archives.flatMap((inspected): readonly Change<ArchivesPayload>[] => {
      const { archive, comparison, sha256 } = inspected;
      const [obstacle] = obstaclesOf(inspected);
      const different = comparison?.different ?? [];
      if (comparison !== undefined && different.length === 0 && obstacle === undefined) return [];
      const written = different.filter(({ entry }) => entry.type !== 'directory');
      return [
        {
          id: idOf(model, archive),
          summary: obstacle?.what ?? summaryOf(archive, different, comparison !== undefined),
          action: different.every(({ what }) => what === 'create') ? 'add' : 'change',
          scope: scopeOf(archive),
          ...(sha256 === undefined
            ? { knownAfter: model.host.hooks.early === undefined ? 'files' : 'hooks-early' }
            : {}),
          ineffective: 'FileNotWritten',
          writes: written.map(({ entry }) => placeOf(archive, entry)),
          ...owing(archive),
          payload: { inspected, actual, model },
        },
      ];
    });
    const left = actual.left.map((one): Change<ArchivesPayload> => {
      const { path, type, kept } = one;
      return {
        id: `archives${path}`,
        summary: `${path}: ${kept === undefined ? `remove the ${type}, which is no longer in an archive` : `no longer in an archive, and kept: ${kept}`}`,
        action: kept === undefined ? 'remove' : 'run',
        scope: 'node',
        ...(kept === undefined ? { removes: [path] } : {}),
        ineffective: 'RemovalRefused',
        payload: { left: one },
      };
    });
    return [...unpacked, ...left];
  },

  async apply(host, { payload }, execution) {
    if ('left' in payload) return await removeLeft(host, payload.left, execution);
    const { inspected, actual, model } = payload;
    const { archive, comparison } = inspected;
    const obstacles = actual.archives.flatMap(obstaclesOf);
    if (obstacles.length > 0) throw obstructed(obstacles);
    const sha256 = await digestOf(host, archive, model.host.files);
    if (sha256 === undefined) throw obstructed([sourceMissing(archive)]);
    const known = actual.manifests.get(archive);
    const make = async (stored?: StoredBytes): Promise<readonly ManifestEntry[]> => {
      const entries = known ?? (stored === undefined ? [] : await read(host, archive, stored));
      actual.manifests.set(archive, entries);
      if (known === undefined) refuse(await claimObstacles(model, actual.manifests));
      await unpack(host, archive, entries, actual.owned, stored);
      return entries;
    };
    const isWhole = comparison?.different.every(({ entry, isContent }) => entry.type !== 'file' || !isContent);
    const entries = isWhole === true ? await make() : await withArchive(host, archive, execution, make);
    // Last: until it is on record that all was unpacked, the next run looks at the archive again.
    if (!actual.recorded.has(archive)) execution.remember(noteOf(archive, sha256, entries));
    for (const one of await leftOf(host, model, actual)) await removeLeft(host, one, execution);
  },

  async settled(host, { host: { archives } }) {
    for (const { path } of archives) await host.sync(path);
  },
};

async function inspect(host: QueryHost, model: Model, { notes, owned }: Known): Promise<ArchivesActual> {
  const { archives, files } = model.host;
  const made = accountsMadeBy(model.host);
  const manifests = new Map<ArchiveModel, readonly ManifestEntry[]>();
  const recorded = new Set<ArchiveModel>();
  const inspected: Inspected[] = [];
  for (const archive of archives) {
    const { content, user, group } = archive;
    const owner = { path: archive.path, user, group, scope: scopeOf(archive) };
    const obstacles = [...(await ownerObstacles(host, owner, made, 'host.files'))];
    const sha256 = await digestOf(host, archive, files);
    const isBrought = content.kind === 'file' && files.some(({ path }) => path === content.path);
    if (sha256 === undefined && !isBrought) obstacles.push(sourceMissing(archive));
    try {
      const known = sha256 === undefined ? undefined : await knownManifest(host, archive, sha256, notes);
      if (known !== undefined) manifests.set(archive, known.entries);
      if (known?.isRecorded === true) recorded.add(archive);
    } catch (error) {
      if (!(error instanceof MachineadmError)) throw error;
      const reason = error.reason === 'ArchiveRefused' ? error.reason : 'ArchiveUnreadable';
      obstacles.push({ path: archive.path, scope: owner.scope, reason, what: error.message, remedy: error.remedy });
    }
    const entries = manifests.get(archive);
    const comparison = entries === undefined ? undefined : await compare(host, archive, entries, owned);
    inspected.push({ archive, sha256, comparison, obstacles });
  }
  const actual = { archives: inspected, manifests, recorded, owned };
  return { ...actual, left: await leftOf(host, model, actual) };
}

type Known = Pick<StepRecord, 'notes' | 'owned'>;

function obstaclesOf({ obstacles, comparison }: Inspected): readonly Obstacle[] {
  return [...obstacles, ...(comparison?.obstacles ?? [])];
}

/** Several archives may be unpacked to one directory. */
function idOf({ host }: Model, { path, at }: ArchiveModel): string {
  const earlier = host.archives.filter((other) => other.path === path && other.at < at).length;
  return `archives${path}${earlier === 0 ? '' : `#${earlier + 1}`}`;
}

function summaryOf(archive: ArchiveModel, different: readonly Different[], isKnown: boolean): string {
  const source = sourceOf(archive);
  if (!isKnown) return `${archive.path}: unpack ${source}; what it holds is known once it is there`;
  const isNew = different.every(({ what }) => what === 'create');
  const counted = isNew ? different.filter(({ entry }) => entry.type !== 'directory') : different;
  const shown = (counted.length === 0 ? different : counted).map(({ entry, what }) =>
    [entry.path || posix.basename(archive.path), ...(isNew ? [] : [`(${what})`])].join(' '),
  );
  const more = shown.length > MOST_SHOWN ? ` and ${shown.length - MOST_SHOWN} more` : '';
  return `${archive.path}: unpack ${shown.slice(0, MOST_SHOWN).join(', ')}${more} from ${source}`;
}

function sourceMissing(archive: ArchiveModel): Obstacle {
  const source = sourceOf(archive);
  return {
    path: archive.path,
    scope: scopeOf(archive),
    reason: 'FileNotWritten',
    what: `${archive.path}: its source ${source} does not exist`,
    remedy: `Create ${source} before this run, or let an early hook do it.`,
  };
}

function refuse([first, ...others]: readonly UnmetRequirement[]): void {
  if (first === undefined) return;
  const { reason, what, remedy } = first;
  const evidence = others.map((other) => ({ source: other.reason, text: other.what }));
  throw new MachineadmError({
    reason,
    summary: [what, ...others.map((other) => other.what)].join('; '),
    remedy,
    evidence,
  });
}

/** Makes and corrects what differs. The archive is not needed where no content does. */
async function unpack(
  host: Host,
  archive: ArchiveModel,
  entries: readonly ManifestEntry[],
  owned: StepRecord['owned'],
  stored: StoredBytes | undefined,
): Promise<void> {
  const { different, obstacles } = await compare(host, archive, entries, owned);
  if (obstacles.length > 0) throw obstructed(obstacles);
  const [uid, gid] = [await host.userId(archive.user), await host.groupId(archive.group)];
  if (uid === undefined || gid === undefined)
    throw obstructed(await ownerObstacles(host, { ...archive, scope: 'base' }, NO_ACCOUNTS, 'host.files'));
  const files = different.flatMap(({ entry, isContent }) => (entry.type === 'file' && isContent ? [entry] : []));
  for (const { entry, isContent } of different) {
    const path = placeOf(archive, entry);
    if (entry.type === 'symlink' || (entry.type === 'file' && isContent)) continue;
    if (isContent) await host.makeDirectory(path, archive.directoryMode);
    await host.chown(path, uid, gid);
    // Behind it: chown clears setuid and setgid of a file (chown(2)).
    await host.chmod(path, modeOf(archive, entry));
  }
  if (stored !== undefined) {
    await writeContents(host, archive, stored, files, async (entry: FileEntry, content) => {
      const { directoryMode } = archive;
      await host.writeFile({
        path: placeOf(archive, entry),
        mode: modeOf(archive, entry),
        uid,
        gid,
        directoryMode,
        content,
      });
    });
  }
  for (const { entry } of different) {
    if (entry.type === 'symlink') await host.writeLink(placeOf(archive, entry), entry.target);
  }
}

/** What earlier archives made below these directories, and none holds any more. */
async function leftOf(
  host: QueryHost,
  { host: { archives, prune } }: Model,
  { manifests, owned }: Pick<ArchivesActual, 'manifests' | 'owned'>,
): Promise<readonly Left[]> {
  // As long as one is not known, it may hold them.
  if (prune === 'Never' || archives.some((archive) => !manifests.has(archive))) return [];
  const wanted = new Set<string>(archives.map(({ path }) => canonicalPath(path)));
  for (const [archive, entries] of manifests) {
    for (const entry of entries) {
      const place = canonicalPath(placeOf(archive, entry));
      for (let at = place; at !== '/' && !wanted.has(at); at = posix.dirname(at)) wanted.add(at);
    }
  }
  const left: Left[] = [];
  const dropped = [...owned].filter(
    ([path, { step }]) =>
      step === 'archives' &&
      !wanted.has(canonicalPath(path)) &&
      archives.some((archive) => isAt(canonicalPath(path), canonicalPath(archive.path))),
  );
  for (const [path, place] of dropped.toSorted(([a], [b]) => b.split('/').length - a.split('/').length)) {
    const stat = await host.stat(path);
    if (stat === undefined) continue;
    const going = left.filter(({ kept }) => kept === undefined).map((one) => one.path);
    left.push({ path, type: stat.type, kept: await whyKept(host, path, place, going) });
  }
  return left;
}

async function removeLeft(host: Host, { path, type, kept }: Left, execution: Execution): Promise<void> {
  if (kept !== undefined) {
    execution.warn(`${path} stays, although no archive of the document contains it any longer: ${kept}`);
    execution.release(path);
  } else if (type === 'directory') await host.removeDirectory(path);
  else await host.removeFile(path);
}
