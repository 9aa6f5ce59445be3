import { dirname } from 'node:path/posix';
import type { DirectoryModel } from '@machineadm/document/model/index.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { FileStat, QueryHost } from '../../host/seam/host.ts';
import { scopeOfPath } from '../../owned-files/content.ts';
import {
  accountsMadeBy,
  type MadeAccounts,
  type Obstacle,
  obstructed,
  ownerObstacles,
  placeObstacle,
} from '../../owned-files/obstacles.ts';
import { requestsPath } from '../../owned-files/requested-paths.ts';
import { entriesBelow } from '../../owned-files/tree-below.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { owing } from '../../step/index.ts';

/** How many entries of a directory a plan names. */
const MOST_SHOWN = 3;

export interface DirectoriesDesired {
  readonly directories: readonly DirectoryModel[];
  /** Paths that the document names themselves; recursive modes and owners do not apply to them. */
  readonly named: ReadonlySet<string>;
  /** An earlier step runs commands of the document, which may still make users appear. */
  readonly afterHooks: boolean;
  /** Accounts that an earlier step creates. */
  readonly made: MadeAccounts;
}

/** How an existing path differs from the document. */
interface Difference {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly what: string;
}

export interface DirectoryActual {
  readonly stat: FileStat | undefined;
  /** The directory itself first. */
  readonly differences: readonly Difference[];
  /** An owner does not exist yet. */
  readonly ownerUnknown: boolean;
  readonly obstacles: readonly Obstacle[];
}

export interface DirectoryPayload {
  readonly directory: DirectoryModel;
  readonly named: ReadonlySet<string>;
  /** Obstacles of all directories, reported before the first is created. */
  readonly obstacles: readonly Obstacle[];
}

/**
 * Directories of the document with their mode and owner and, where the document says so, those of their content. Links
 * are not followed, and mounted file systems below are not changed.
 */
export const directories: FeatureStep<DirectoriesDesired, readonly DirectoryActual[], DirectoryPayload> = {
  id: 'directories',
  restoring: { followUps: (path, everOwed) => everOwed.get(`directories${path}`) },
  section: 'host.directories',
  isRequested: requestsPath,
  owned: ({ host }) => host.directories.map(({ path }) => path),

  desired({ host }) {
    const { directories, files, links, hooks } = host;
    if (directories.length === 0) return undefined;
    const named = new Set([...directories, ...files, ...links].map(({ path }) => canonicalPath(path)));
    return { directories, named, afterHooks: hooks.early !== undefined, made: accountsMadeBy(host) };
  },

  async preflight(host, desired) {
    if (desired.afterHooks) return [];
    const found: Obstacle[] = [];
    for (const directory of desired.directories) found.push(...(await obstaclesOf(host, directory, desired.made)));
    return found;
  },

  async inspect(host, desired) {
    const actual: DirectoryActual[] = [];
    for (const directory of desired.directories) {
      const obstacles = await obstaclesOf(host, directory, desired.made);
      const stat = obstacles.length > 0 ? undefined : await host.stat(directory.path);
      actual.push({
        stat,
        differences: stat === undefined ? [] : await differencesOf(host, directory, stat, desired.named),
        ownerUnknown: await isOwnerUnknown(host, directory),
        obstacles,
      });
    }
    return actual;
  },

  plan(desired, actual) {
    const obstacles = actual.flatMap((one) => one.obstacles);
    return desired.directories.flatMap((directory, index) => {
      const now = actual[index];
      if (now === undefined) return [];
      const { path, mode, user, group } = directory;
      const create = `create, ${formatMode(mode ?? 0o755)} ${user ?? 'root'}:${group ?? 'root'}`;
      const what = now.obstacles[0]?.what ?? (now.stat === undefined ? `${path}: ${create}` : listed(now.differences));
      if (what === undefined) return [];
      const decides: 'hooks-early' | 'users' = desired.afterHooks ? 'hooks-early' : 'users';
      return [
        {
          id: `directories${path}`,
          summary: what,
          action: now.stat === undefined ? 'add' : 'change',
          scope: scopeOfPath(path),
          ineffective: 'FileNotWritten',
          ...owing(directory),
          ...(now.ownerUnknown ? { knownAfter: decides } : {}),
          payload: { directory, named: desired.named, obstacles },
        },
      ];
    });
  },

  async apply(host, { payload: { directory, named, obstacles } }) {
    if (obstacles.length > 0) throw obstructed(obstacles);
    const { path, mode } = directory;
    if ((await host.stat(path)) === undefined) {
      // Parent directories are readable for everybody, whatever the mode of this one is.
      if ((await host.stat(dirname(path))) === undefined) await host.makeDirectory(dirname(path), 0o755);
      await host.makeDirectory(path, mode ?? 0o755);
    }
    const stat = await host.stat(path);
    for (const { path, mode, uid, gid } of stat === undefined
      ? []
      : await differencesOf(host, directory, stat, named)) {
      await host.chown(path, uid, gid);
      // After chown, which clears setuid and setgid of a file (chown(2)).
      await host.chmod(path, mode);
    }
  },

  async settled(host, desired) {
    for (const { path } of desired.directories) await host.sync(path);
  },
};

/** Differences of the directory and, where the document sets modes or owners for its content, of that. */
async function differencesOf(
  host: QueryHost,
  directory: DirectoryModel,
  stat: FileStat,
  named: ReadonlySet<string>,
): Promise<readonly Difference[]> {
  const { path, recursive } = directory;
  const own = differenceOf(path, stat, directory, await idsOf(host, directory));
  if (recursive === undefined) return own;
  const ids = await idsOf(host, recursive);
  const below = (await entriesBelow(host, path, (other) => named.has(canonicalPath(other)))).flatMap((entry) => {
    const isDirectory = entry.stat.type === 'directory';
    // Links are skipped: they have no mode, and the file they lead to is not meant.
    if (!isDirectory && entry.stat.type !== 'file') return [];
    return differenceOf(entry.path, entry.stat, { mode: isDirectory ? recursive.directoryMode : recursive.mode }, ids);
  });
  return [...own, ...below];
}

interface Ids {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
}

async function idsOf(host: QueryHost, { user, group }: Pick<DirectoryModel, 'user' | 'group'>): Promise<Ids> {
  return {
    uid: user === undefined ? undefined : await host.userId(user),
    gid: group === undefined ? undefined : await host.groupId(group),
  };
}

async function isOwnerUnknown(host: QueryHost, directory: DirectoryModel): Promise<boolean> {
  for (const owned of [directory, directory.recursive ?? directory]) {
    const { uid, gid } = await idsOf(host, owned);
    if (owned.user !== undefined && (uid === undefined || gid === undefined)) return true;
  }
  return false;
}

function differenceOf(
  path: string,
  stat: FileStat,
  wanted: { readonly mode: number | undefined },
  ids: Ids,
): Difference[] {
  const { mode = stat.mode } = wanted;
  const { uid = stat.uid, gid = stat.gid } = ids;
  const what = [
    ...(mode === stat.mode ? [] : [`mode ${formatMode(stat.mode)} -> ${formatMode(mode)}`]),
    ...(uid === stat.uid && gid === stat.gid ? [] : [`owner ${stat.uid}:${stat.gid} -> ${uid}:${gid}`]),
  ];
  return what.length === 0 ? [] : [{ path, mode, uid, gid, what: `${path}: ${what.join(', ')}` }];
}

function listed(differences: readonly Difference[]): string | undefined {
  if (differences.length === 0) return undefined;
  const more = differences.length - MOST_SHOWN;
  const shown = differences.slice(0, MOST_SHOWN).map(({ what }) => what);
  return [...shown, ...(more > 0 ? [`and ${more} more in it`] : [])].join('; ');
}

async function obstaclesOf(
  host: QueryHost,
  directory: DirectoryModel,
  made: MadeAccounts,
): Promise<readonly Obstacle[]> {
  const { path, recursive } = directory;
  const owners = [directory, ...(recursive === undefined ? [] : [recursive])].flatMap(({ user, group }) =>
    user === undefined || group === undefined ? [] : [{ path, user, group, scope: scopeOfPath(path) }],
  );
  const found: Obstacle[] = [];
  for (const owner of owners) found.push(...(await ownerObstacles(host, owner, made, 'host.directories')));
  const real = recursive === undefined ? path : await host.realPath(path);
  if (recursive !== undefined && isCriticalPath(real)) {
    const what = `${path}: it is ${real}, which is part of the system: its files have modes and owners that must stay`;
    found.push({
      path,
      scope: scopeOfPath(path),
      reason: 'FileNotWritten',
      what,
      remedy: 'Use a subdirectory.',
    });
  }
  const there = await placeObstacle(host, path, ['directory'], 'host.directories');
  return there === undefined ? found : [...found, { ...there, scope: scopeOfPath(path) }];
}
