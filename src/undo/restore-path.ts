import { ORIGINAL_SUFFIX } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Resource } from '../host/seam/resource.ts';
import { copyPath, type Fingerprint, readCopy, secondName, whyCopyUnreadable } from '../prior-state/copies.ts';
import { attributesOf } from '../prior-state/extended-attributes.ts';
import { areAttributesOurs, isOurs, stateOf } from '../prior-state/state.ts';
import type { FileState, Marks, PriorState } from '../step/recorded-state.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import { type ResetAction, runOrFail } from '../step/reset-action.ts';

const CHANGED_SINCE = 'it was changed since machineadm changed it';
const MODE_CHANGED_SINCE = 'its mode or owner was changed since machineadm changed it';

export interface PathRecord {
  readonly path: string;
  readonly was: PriorState;
  readonly marks: Marks;
  /** A copy that an earlier version kept beside it. */
  readonly original: boolean;
}

/**
 * How a path becomes again what it was. A content that somebody else changed since stays.
 *
 * @param gone paths and mounts that earlier actions of this reset remove; this one's is added
 */
export async function restorePath(
  host: QueryHost,
  { path, was, marks, original }: PathRecord,
  fingerprint: Fingerprint,
  gone: Set<string>,
): Promise<readonly ResetAction[]> {
  const resource: Resource = `path:${path}`;
  const now = await stateOf(host, resource, fingerprint);
  const leave = (why: string): readonly ResetAction[] => {
    if (was?.is !== 'file' || !was.kept) return [{ summary: `leave ${path}: ${why}`, resource }];
    const summary = `leave ${path}: ${why}; what was there before is in ${copyPath(was.fingerprint)}`;
    return [{ summary, resource, keeps: was.fingerprint }];
  };
  const isUntouched = isOurs(marks, now);
  if (was === null) {
    if (now === null) return [];
    if (now.is === 'directory') {
      const isBusy = !gone.has(`mount:${path}`) && (await stateOf(host, `mount:${path}`, fingerprint)) !== null;
      return isBusy ? leave('something stays mounted there') : [await removeDirectory(host, path, gone)];
    }
    if (!isUntouched) return leave('its content was changed since machineadm wrote it');
    gone.add(path);
    return [{ summary: `remove ${path}`, resource, perform: (changing) => changing.removeFile(path) }];
  }
  if (was.is === 'directory') {
    if (now !== null && now.is !== 'directory') return leave(`it was a directory, and is a ${now.is} now`);
    if (now !== null && sameAttributes(was, now)) return [];
    if (now === null ? !isUntouched : !areAttributesOurs(marks, now)) return leave(CHANGED_SINCE);
    return [
      {
        summary: `restore ${path} as it was`,
        resource,
        unsettles: [[resource, UNKNOWN]],
        perform: async (changing, signal) => {
          await changing.makeDirectory(path, was.mode);
          await restoreAttributes(changing, path, was, signal);
        },
      },
    ];
  }
  if (was.is === 'symlink') {
    if (now?.is === 'symlink' && now.target === was.target) return [];
    if (!isUntouched || now?.is === 'directory') return leave(`it was a link to ${was.target}, and was changed since`);
    const perform: ResetAction['perform'] = (changing) => changing.writeLink(path, was.target);
    return [{ summary: `restore ${path} as it was`, resource, perform }];
  }
  if (was.is === 'file') {
    if (now?.is === 'file' && now.fingerprint === was.fingerprint) {
      if (sameAttributes(was, now) && (await hasExtended(host, path, was))) return [];
      if (!areAttributesOurs(marks, now)) return leave(MODE_CHANGED_SINCE);
      const action = attributesAction(path, resource, was);
      const perform: ResetAction['perform'] = async (changing, signal) => {
        if (!(await relink(changing, path, was, fingerprint))) await action.perform?.(changing, signal);
      };
      return [{ ...action, perform }];
    }
    if (now?.is === 'directory') return leave('it was a file, and is a directory now');
    if (!isUntouched) {
      return leave(`${now === null ? 'it was removed' : 'its content was changed'} since machineadm wrote it`);
    }
    if (!(await isKept(host, path, was, fingerprint))) {
      if (!was.kept) return leave('what was there before was too large for a copy');
      const lost = await whyCopyUnreadable(host, was.fingerprint);
      if (lost !== undefined) return [{ summary: `leave ${path}: ${lost}`, resource, keeps: was.fingerprint }];
    }
    return [restoreFile(path, resource, was, now?.is === 'symlink', fingerprint)];
  }
  if (original) return [restoreFile(path, resource, undefined, now?.is === 'symlink', fingerprint)];
  return now === null ? [] : leave('it was there before, and how it was is not on record');
}

/** The mode and the owner of a path alone. */
export async function restoreModeAndOwner(
  host: QueryHost,
  path: string,
  was: Extract<PriorState, { is: 'attributes' }>,
  marks: Marks,
): Promise<readonly ResetAction[]> {
  const now = await host.stat(path);
  if (now === undefined || sameAttributes(was, now)) return [];
  if (!areAttributesOurs(marks, now)) return [{ summary: `leave ${path}: ${MODE_CHANGED_SINCE}` }];
  return [attributesAction(path, `attributes:${path}`, was)];
}

type Attributes = Pick<FileState, 'mode' | 'uid' | 'gid' | 'extended'>;

function attributesAction(path: string, resource: Resource, was: Attributes): ResetAction {
  return {
    summary: `restore mode and owner of ${path}`,
    resource,
    unsettles: [[resource, UNKNOWN]],
    perform: (host, signal) => restoreAttributes(host, path, was, signal),
  };
}

async function removeDirectory(host: QueryHost, path: string, gone: Set<string>): Promise<ResetAction> {
  const others = ((await host.list(path)) ?? []).filter((name) => !gone.has(`${path}/${name}`));
  if (others.length === 0) gone.add(path);
  const shown = others.length > 3 ? `${others.slice(0, 3).join(', ')}, …` : others.join(', ');
  return {
    summary: `remove ${path}${others.length === 0 ? '' : ` unless it still holds what is not ours (now ${shown})`}`,
    resource: `path:${path}`,
    isFull: others.length > 0,
    async perform(changing) {
      if (((await changing.list(path)) ?? []).length === 0) await changing.removeDirectory(path);
    },
  };
}

/** @param was undefined: from the copy that an earlier version kept beside it, with its mode and owner */
function restoreFile(
  path: string,
  resource: Resource,
  was: FileState | undefined,
  isLink: boolean,
  fingerprint: Fingerprint,
): ResetAction {
  return {
    summary: `restore ${path} as it was`,
    resource,
    // A link is removed before the file is written.
    ...(isLink ? { unsettles: [[resource, UNKNOWN]] } : {}),
    async perform(host, signal) {
      if (was !== undefined && (await relink(host, path, was, fingerprint))) return;
      const original = `${path}${ORIGINAL_SUFFIX}`;
      const content = was === undefined ? await host.readFile(original) : await readCopy(host, was.fingerprint);
      const attributes = was ?? (await host.stat(original));
      if (content === undefined || attributes === undefined) return;
      const { mode, uid, gid } = attributes;
      // A link may lead to a directory, or mask a unit: it is not written through.
      if ((await host.stat(path))?.type === 'symlink') await host.removeFile(path);
      await host.writeFile({ path, content, mode, uid, gid });
      if (was !== undefined) await restoreAttributes(host, path, was, signal);
    },
  };
}

async function restoreAttributes(host: Host, path: string, was: Attributes, signal: AbortSignal): Promise<void> {
  const now = await host.stat(path);
  if (now === undefined) return;
  // chown(2) clears setuid and setgid, so it comes first.
  if (now.uid !== was.uid || now.gid !== was.gid) await host.chown(path, was.uid, was.gid);
  await host.chmod(path, was.mode);
  for (const [name, value] of Object.entries(was.extended ?? {})) {
    const args = ['--no-dereference', `--name=${name}`, `--value=${value}`, '--', path];
    await runOrFail(host, signal, { program: 'setfattr', args });
  }
}

function sameAttributes(was: Attributes, now: Attributes): boolean {
  return was.mode === now.mode && was.uid === now.uid && was.gid === now.gid;
}

async function hasExtended(host: QueryHost, path: string, { extended }: Attributes): Promise<boolean> {
  if (extended === undefined) return true;
  return JSON.stringify((await attributesOf(host, path)).extended) === JSON.stringify(extended);
}

/** Puts the very file that was there before in its place again. */
async function relink(host: Host, path: string, was: FileState, fingerprint: Fingerprint): Promise<boolean> {
  return (await isKept(host, path, was, fingerprint)) && (await host.linkFile(secondName(path), path));
}

/** Whether the earlier file is unchanged under its second name: a process that has it open may write to it. */
async function isKept(host: QueryHost, path: string, was: FileState, fingerprint: Fingerprint): Promise<boolean> {
  const kept = await stateOf(host, `path:${secondName(path)}`, fingerprint);
  return kept?.is === 'file' && kept.fingerprint === was.fingerprint && sameAttributes(was, kept);
}
