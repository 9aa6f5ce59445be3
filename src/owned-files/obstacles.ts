import { posix } from 'node:path';
import type { FileModel, HostModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { FileStat, QueryHost } from '../host/seam/host.ts';
import type { UnmetRequirement } from '../step/index.ts';
import { scopeOf } from './content.ts';

/** A reason why a file cannot be written, found before the first file is written. */
export interface Obstacle extends UnmetRequirement {
  readonly path: string;
  readonly scope: 'base' | 'node';
  readonly reason: Extract<
    Reason,
    | 'FileOwnerUnknown'
    | 'FileNotWritten'
    | 'RemovalRefused'
    | 'DiskFull'
    | 'ArchiveUnreadable'
    | 'ArchiveRefused'
    | 'AccountToolMissing'
  >;
}

/** Accounts that the document creates before its files are written. */
export interface MadeAccounts {
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
}

export const NO_ACCOUNTS: MadeAccounts = { users: new Set(), groups: new Set() };

/** A user that names no primary group gets one of its own name (useradd(8), USERGROUPS_ENAB). */
export function accountsMadeBy({ users, groups }: Pick<HostModel, 'users' | 'groups'>): MadeAccounts {
  const own = users.filter(({ primaryGroup }) => primaryGroup === undefined).map(({ name }) => name);
  return {
    users: new Set(users.map(({ name }) => name)),
    groups: new Set([...groups.map(({ name }) => name), ...own]),
  };
}

/** All obstacles of these files: unknown owners, missing sources, and objects at the paths. */
export async function findObstacles(
  host: QueryHost,
  files: readonly FileModel[],
  made: MadeAccounts,
): Promise<readonly Obstacle[]> {
  const owners = new Map<string, readonly string[]>();
  const written = new Set<string>();
  const obstacles: Obstacle[] = [];
  for (const file of files) {
    const scope = scopeOf(file);
    const owner = `${file.user}:${file.group}`;
    const unknown = owners.get(owner) ?? (await unknownOwners(host, file, made));
    owners.set(owner, unknown);
    obstacles.push(...unknown.map((name) => ownerObstacle({ ...file, scope }, name, 'host.files')));
    const { content } = file;
    if (content.kind === 'file' && !written.has(content.path) && (await host.stat(content.path)) === undefined) {
      obstacles.push({
        path: file.path,
        scope,
        reason: 'FileNotWritten',
        key: 'contentFrom',
        what: `${file.path}: its source ${content.path} does not exist`,
        remedy: `Create ${content.path} before this run, or let an early hook do it.`,
      });
    }
    const there = await placeObstacle(host, file.path, ['file'], 'host.files');
    if (there !== undefined) obstacles.push({ ...there, scope });
    written.add(file.path);
  }
  return obstacles;
}

/** A path with the owner that the document gives it. */
interface Owned {
  readonly path: string;
  readonly user: string;
  readonly group: string;
  readonly scope: 'base' | 'node';
}

/** Owners that do not exist and are not created before. */
export async function ownerObstacles(
  host: QueryHost,
  owned: Owned,
  made: MadeAccounts,
  field: string,
): Promise<readonly Obstacle[]> {
  return (await unknownOwners(host, owned, made)).map((name) => ownerObstacle(owned, name, field));
}

async function unknownOwners(
  host: QueryHost,
  file: Pick<Owned, 'user' | 'group'>,
  made: MadeAccounts,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  if (!made.users.has(file.user) && (await host.userId(file.user)) === undefined) unknown.push(`the user ${file.user}`);
  if (!made.groups.has(file.group) && (await host.groupId(file.group)) === undefined) {
    unknown.push(`the group ${file.group}`);
  }
  return unknown;
}

/** What is in the way, without the path where it is. */
export function reasonAt({ path, what }: Obstacle): string {
  return what.startsWith(`${path}: `) ? what.slice(path.length + 2) : what;
}

function ownerObstacle({ path, scope }: Owned, owner: string, field: string): Obstacle {
  const remedy = owner.startsWith('the group ')
    ? `Create ${owner} before this run or under host.groups, or name another one under ${field}, as owner: USER:GROUP.`
    : `Create ${owner} before this run or under host.users, or correct the owner under ${field}.`;
  return {
    path,
    scope,
    reason: 'FileOwnerUnknown',
    key: 'owner',
    what: `${path}: ${owner} does not exist`,
    remedy,
  };
}

/**
 * What is at a path instead of something of these types, and why nothing can be put there.
 *
 * A link is not followed as the last component: whoever may place a link in a directory would choose which file root
 * overwrites (CWE-59). It is not replaced either, because it is another tool's.
 */
export async function placeObstacle(
  host: QueryHost,
  path: string,
  wanted: readonly FileStat['type'][],
  field: string,
): Promise<Omit<Obstacle, 'scope'> | undefined> {
  const stat = await statOf(host, path);
  if (stat === 'below a file') {
    return refusal(
      path,
      'a parent of it is not a directory',
      `Correct the path under ${field}: one of its parent directories is a file.`,
    );
  }
  if (stat === undefined || wanted.includes(stat.type)) return undefined;
  if (stat.type === 'symlink') {
    return refusal(
      path,
      'a symbolic link is there',
      `Remove the link, or name the ${wanted[0]} that it points to under ${field}.`,
    );
  }
  return refusal(
    path,
    stat.type === 'other' ? 'it is not a regular file' : `a ${stat.type} is there`,
    `Remove it, or correct the path ${path} under ${field}.`,
  );
}

async function statOf(host: QueryHost, path: string): Promise<FileStat | 'below a file' | undefined> {
  for (let parent = posix.dirname(path); parent !== '/' && parent !== '.'; parent = posix.dirname(parent)) {
    const stat = await statQuietly(host, parent);
    // A link among the parents is followed, as the system does (/var/run).
    if (stat?.type === 'file') return 'below a file';
    if (stat !== undefined) break;
  }
  return await statQuietly(host, path);
}

/** With ENOTDIR nothing exists at the path; its parents are checked one by one. */
async function statQuietly(host: QueryHost, path: string): Promise<FileStat | undefined> {
  try {
    return await host.stat(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function refusal(path: string, why: string, remedy: string): Omit<Obstacle, 'scope'> {
  return { path, reason: 'FileNotWritten', what: `${path}: ${why}`, remedy };
}

/** The error of a step that meets these obstacles. */
export function obstructed(obstacles: readonly Obstacle[], failed = 'Files cannot be written'): MachineadmError {
  const [first] = obstacles;
  return new MachineadmError({
    reason: first?.reason ?? 'FileNotWritten',
    summary: `${failed}: ${obstacles.map((obstacle) => obstacle.what).join('; ')}.`,
    remedy: [...new Set(obstacles.map((obstacle) => obstacle.remedy))].join(' '),
    evidence: obstacles.map((obstacle) => ({ source: obstacle.path, text: obstacle.what })),
  });
}
