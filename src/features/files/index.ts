import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { FileModel } from '@machineadm/document/model/index.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { contentObstacles } from '../../content-checks/index.ts';
import { mountPointsOf, unescapeOctal } from '../../host/files/paths.ts';
import type { FileStat, QueryHost } from '../../host/seam/host.ts';
import { contentToWrite, scopeOf, sourceOf, wantedContent, wantedMode } from '../../owned-files/content.ts';
import { download } from '../../owned-files/download.ts';
import {
  accountsMadeBy,
  findObstacles,
  type MadeAccounts,
  NO_ACCOUNTS,
  type Obstacle,
  obstructed,
  reasonAt,
} from '../../owned-files/obstacles.ts';
import { requestsPath } from '../../owned-files/requested-paths.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { programsAt } from '../../step/brought-programs.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import {
  type Change,
  EMPTY_RECORD,
  type OwnedPlace,
  owing,
  type RanRecord,
  type UnmetRequirement,
} from '../../step/index.ts';

/** Files above this size are not read to show a diff. */
const MOST_COMPARED = 4 * 1024 * 1024;

export interface FilesDesired {
  readonly files: readonly FileModel[];
  /** An earlier step runs commands of the document, which may still make users, sources and directories appear. */
  readonly afterHooks: boolean;
  /** Accounts that an earlier step creates. */
  readonly made: MadeAccounts;
  /** Where the document mounts something, with a slash at the end: what is there now will be hidden. */
  readonly mounted: readonly string[];
}

export interface FileActual {
  readonly stat: FileStat | undefined;
  readonly sha256: string | undefined;
  /** Text of the present file, read only where a diff may be shown. */
  readonly text: string | undefined;
  /** Whether a hook of the document changed the file after it was written. */
  readonly isHookEdit: boolean;
  /** Whether a run was killed while it wrote the file, so that nothing proves yet whose content it has. */
  readonly isUnfinished: boolean;
  /** undefined: not known yet, because what decides it does not exist yet. */
  readonly wanted: {
    readonly uid: number | undefined;
    readonly gid: number | undefined;
    readonly sha256: string | undefined;
    readonly text: string | undefined;
    /** Why the content is not known yet. */
    readonly unknown?: 'source' | 'secrets';
  };
}

export interface FilesActual {
  readonly files: readonly FileActual[];
  readonly obstacles: readonly Obstacle[];
}

export interface FilePayload {
  readonly file: FileModel;
  /** Obstacles of all files of the run, reported before the first is written. A bake writes no node files. */
  readonly obstacles: readonly Obstacle[];
  /** undefined: the account was not known when the change was planned. */
  readonly uid: number | undefined;
  readonly gid: number | undefined;
}

/** Files of the document in its order. Each replaces the old one as a whole, with its owner and mode. */
export const files: FeatureStep<FilesDesired, FilesActual, FilePayload> = {
  id: 'files',
  restoring: { followUps: (path, everOwed) => everOwed.get(`files/${path}`) },
  section: 'host.files',
  isRequested: requestsPath,
  owned: ({ host }) => host.files.map(({ path }) => path),

  desired(model) {
    const { files, hooks, storage } = model.host;
    return files.length === 0
      ? undefined
      : {
          files,
          afterHooks: hooks.early !== undefined,
          made: accountsMadeBy(model.host),
          mounted: storage.mounts.map(({ path }) => `${path}/`),
        };
  },

  programs: { brings: ({ files }) => programsAt((program) => files.some(({ path }) => path === program)) },

  async preflight(host, desired, record) {
    // Obstacles are judged after the early hooks, which may remove them.
    const obstacles = desired.afterHooks ? [] : await findObstacles(host, desired.files, desired.made);
    const placed = obstacles.map((obstacle) => ({ ...obstacle, change: `files/${obstacle.path}` }));
    return [
      ...placed,
      ...(await readOnlyObstacles(host, desired, record)),
      ...(await contentObstacles(host, desired.files)),
    ];
  },

  secrets: ({ files }) => secretsIn(files),

  async inspect(host, desired, record) {
    const stat = statOnce(host);
    const obstacles = await findObstacles({ ...host, stat }, desired.files, desired.made);
    const inTheWay = new Set(obstacles.map((obstacle) => obstacle.path));
    const ids = accountIds(host);
    const actual: FileActual[] = [];
    for (const [index, file] of desired.files.entries()) {
      const found = inTheWay.has(file.path) ? undefined : await stat(file.path);
      const { bytes, sha256, unknown } = await wantedContent(host, desired.files, index);
      const present = found?.type === 'file' ? await host.sha256(file.path) : undefined;
      // Of a content that is as it is to be there is nothing to show.
      const shown = (found === undefined || present !== sha256) && mayShow(file, found);
      const now = {
        stat: found,
        sha256: present,
        text: shown && found !== undefined && found.size <= MOST_COMPARED ? await host.readText(file.path) : undefined,
        wanted: {
          ...(file.keepsOwner === true && found !== undefined
            ? { uid: found.uid, gid: found.gid }
            : { uid: await ids.user(file.user), gid: await ids.group(file.group) }),
          sha256,
          text: shown && bytes !== undefined ? utf8Text(bytes) : undefined,
          ...(unknown === undefined ? {} : { unknown }),
        },
      };
      const edit = record.hookEdits.get(file.path);
      const isUnfinished = found?.type === 'file' && isBegun(record.owned.get(file.path));
      actual.push({ ...now, isUnfinished, isHookEdit: edit !== undefined && edit === editOf(file, now) });
    }
    return { files: actual, obstacles };
  },

  plan(desired, actual) {
    const changes: Change<FilePayload>[] = [];
    desired.files.forEach((file, index) => {
      const now = actual.files[index];
      if (now === undefined) return;
      const scope = scopeOf(file);
      const obstacle = actual.obstacles.find((other) => other.path === file.path);
      const differences = obstacle === undefined ? differencesOf(file, now) : [reasonAt(obstacle)];
      if (differences.length === 0 || (obstacle === undefined && now.isHookEdit)) return;
      changes.push({
        id: `files/${file.path}`,
        summary: `${file.path}: ${differences.join(', ')}`,
        action: now.stat === undefined ? 'add' : 'change',
        diff: shownDiff(now),
        scope,
        ...knownAfter(desired, file, now),
        ineffective: 'FileNotWritten',
        writes: [file.path],
        ...owing(file),
        payload: {
          file,
          uid: now.wanted.uid,
          gid: now.wanted.gid,
          obstacles: actual.obstacles.filter((other) => scope === 'node' || other.scope === 'base'),
        },
      });
    });
    return changes;
  },

  async apply(host, change, execution) {
    const { file, obstacles } = change.payload;
    if (obstacles.length > 0) throw obstructed(obstacles);
    const { path, directoryMode, content } = file;
    const stat = file.append ? await host.stat(path) : undefined;
    const kept = file.keepsOwner === true ? stat : undefined;
    const uid = kept?.uid ?? change.payload.uid ?? (await host.userId(file.user));
    const gid = kept?.gid ?? change.payload.gid ?? (await host.groupId(file.group));
    if (uid === undefined || gid === undefined) throw obstructed(await findObstacles(host, [file], NO_ACCOUNTS));
    const block = file.block === undefined ? {} : { block: file.block };
    const place = { path, mode: wantedMode(file, stat), uid, gid, directoryMode, ...block };
    if (content.kind === 'http') await download(host, content, place, execution.signal);
    else await host.writeFile({ ...place, content: await contentToWrite(host, { ...file, content }) });
  },

  afterHooks: {
    async edits(host, desired, record) {
      const { files: actual } = await files.inspect(host, desired, record);
      const edits = new Map<string, string>();
      desired.files.forEach((file, index) => {
        const now = actual[index];
        if (now !== undefined && differencesOf(file, now).length > 0) edits.set(file.path, editOf(file, now));
      });
      return edits;
    },
  },

  async settled(host, desired) {
    // One flush for each file system, not for each file: 1000 files cost 120 ms instead of 420 ms.
    const mountPoints = mountPointsOf((await host.readText('/proc/self/mountinfo')) ?? '');
    const used = new Set(desired.files.map((file) => closestMountPoint(mountPoints, file.path)));
    for (const mountPoint of used) await host.sync(mountPoint);
  },
};

function differencesOf(file: FileModel, now: FileActual): string[] {
  const { stat, wanted } = now;
  const owner = `${file.user}:${file.group}`;
  if (stat === undefined) return [`create, ${formatMode(file.mode)} ${owner}, ${sourceOf(file)}`];
  const differences: string[] = [];
  if (stat.type !== 'file') differences.push(`is a ${stat.type}`);
  else if (now.sha256 !== wanted.sha256) differences.push(contentDifference(file, wanted.unknown));
  const mode = wantedMode(file, stat);
  if (stat.mode !== mode) differences.push(`mode ${formatMode(stat.mode)} -> ${formatMode(mode)}`);
  if (stat.uid !== wanted.uid || stat.gid !== wanted.gid) {
    differences.push(`owner ${stat.uid}:${stat.gid} -> ${owner}`);
  }
  if (differences.length === 0 && now.isUnfinished) differences.push('write again, as a run was killed in it');
  return differences;
}

function isBegun(owned: OwnedPlace | undefined): boolean {
  return owned?.type === 'file' && owned.stamp === undefined;
}

/** The present and the wanted state of a file. A hook's edit is kept only while both are unchanged. */
function editOf(file: FileModel, { stat, sha256, wanted }: Omit<FileActual, 'isHookEdit' | 'isUnfinished'>): string {
  const is = stat === undefined ? undefined : [stat.type, stat.mode, stat.uid, stat.gid, sha256];
  const state = [is, [file.mode, wanted.uid, wanted.gid, wanted.sha256]];
  return createHash('sha256').update(JSON.stringify(state)).digest('hex');
}

function contentDifference(file: FileModel, unknown: 'source' | 'secrets' | undefined): string {
  const source = sourceOf(file);
  if (unknown === 'secrets') return `compare with ${source}`;
  if (file.block !== undefined) return `block ${file.block.name} from ${source} differs`;
  return file.append ? `append ${source}` : `content from ${source} differs`;
}

/** The earlier step that decides what is not known yet. */
function knownAfter(desired: FilesDesired, file: FileModel, now: FileActual): Pick<Change, 'knownAfter'> {
  const { uid, gid, sha256, unknown } = now.wanted;
  if (unknown === 'secrets') return { knownAfter: 'secrets' };
  const ownerUnknown = uid === undefined || gid === undefined;
  if (ownerUnknown && (uid !== undefined || desired.made.users.has(file.user))) {
    if (gid !== undefined || desired.made.groups.has(file.group)) return { knownAfter: 'users' };
  }
  return (ownerUnknown || sha256 === undefined) && desired.afterHooks ? { knownAfter: 'hooks-early' } : {};
}

/** Looks at each path once, and not below a directory that does not exist: a thousand files share their directories. */
function statOnce(host: QueryHost): QueryHost['stat'] {
  const found = new Map<string, Promise<FileStat | undefined>>();
  return (path) => {
    const known = found.get(path) ?? look(path, found.get(posix.dirname(path)));
    found.set(path, known);
    return known;
  };
  async function look(path: string, above?: Promise<FileStat | undefined>): Promise<FileStat | undefined> {
    return above !== undefined && (await above) === undefined ? undefined : await host.stat(path);
  }
}

/** Numeric ids, each looked up once: 1,000 files have few owners. */
function accountIds(host: QueryHost) {
  const users = new Map<string, Promise<number | undefined>>();
  const groups = new Map<string, Promise<number | undefined>>();
  const once = (ids: Map<string, Promise<number | undefined>>, name: string, find: QueryHost['userId']) => {
    const found = ids.get(name) ?? find(name);
    ids.set(name, found);
    return found;
  };
  return {
    user: (name: string) => once(users, name, (user) => host.userId(user)),
    group: (name: string) => once(groups, name, (group) => host.groupId(group)),
  };
}

/** A diff is shown only where every local user may read the file, before and after the change. */
function mayShow(file: FileModel, stat: FileStat | undefined): boolean {
  const readable = (mode: number): boolean => (mode & 0o004) !== 0;
  if (file.content.kind !== 'inline' || !readable(file.mode)) return false;
  return stat === undefined || (stat.type === 'file' && readable(stat.mode));
}

function shownDiff({ stat, text, wanted }: FileActual): string | undefined {
  if (wanted.text === undefined) return undefined;
  if (stat !== undefined && text === undefined) return `${stat.size} bytes are there: too many to compare by line`;
  return textDiff(text ?? '', wanted.text) || undefined;
}

/** Files that must be written where nothing can be; one that is already right needs no writing. */
async function readOnlyObstacles(
  host: QueryHost,
  desired: FilesDesired,
  record: RanRecord | undefined,
): Promise<readonly UnmetRequirement[]> {
  const outside = desired.files
    .map(({ path }) => path)
    .filter((path) => !desired.mounted.some((on) => path.startsWith(on)));
  const readOnly = await readOnlyMounts(host, outside);
  if (readOnly.size === 0) return [];
  const changes = files.plan(desired, await files.inspect(host, desired, { ...EMPTY_RECORD, ...record }));
  return changes.flatMap(({ id, payload }): readonly UnmetRequirement[] => {
    const { path } = payload.file;
    const on = readOnly.get(path);
    if (on === undefined || payload.obstacles.some((obstacle) => obstacle.path === path)) return [];
    const what = `${path} cannot be written: ${on} is mounted read-only`;
    const remedy = `Mount ${on} writable, or put the file elsewhere.`;
    return [{ reason: 'ReadOnlyFilesystem', what, remedy, change: id, scope: scopeOf(payload.file) }];
  });
}

/** The mount points of file systems that are mounted read-only, and all others, from proc_pid_mountinfo(5). */
async function mounts(host: QueryHost): Promise<ReadonlyMap<string, 'ro' | 'rw'>> {
  const lines = ((await host.readText('/proc/self/mountinfo')) ?? '').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, , , , path, options] = line.split(' ');
      const superOptions = line.split(' - ')[1]?.split(' ')[2] ?? '';
      if (path === undefined || options === undefined) return [];
      const isReadOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
      return [[unescapeOctal(path), isReadOnly ? 'ro' : 'rw'] as const];
    }),
  );
}

/** The mount point because of which each of these paths cannot be written, by path. */
async function readOnlyMounts(host: QueryHost, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const mounted = await mounts(host);
  const found = new Map<string, string>();
  for (const path of paths) {
    const closest = closestMountPoint([...mounted.keys()], path);
    if (mounted.get(closest) === 'ro') found.set(path, closest);
  }
  return found;
}

/** The mount point of the file system that has a path. */
function closestMountPoint(mountPoints: readonly string[], path: string): string {
  const above = mountPoints.filter((point) => point === '/' || path.startsWith(`${point}/`));
  return above.reduce((closest, point) => (point.length > closest.length ? point : closest), '/');
}
