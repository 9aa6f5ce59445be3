import { readAccounts } from '../accounts/databases.ts';
import { readSuperblock } from '../block-devices/signatures.ts';
import { unescapeOctal } from '../host/files/paths.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { partsOf, type Resource } from '../host/seam/resource.ts';
import { isSealed } from '../host/secrets/sealed-files.ts';
import { type Attributes, type Marks, type PriorState, UNKNOWN } from '../step/recorded-state.ts';
import { copyPath, type Fingerprint, keepCopy, LARGEST_COPY, secondName, sha256Of } from './copies.ts';
import { attributesOf } from './extended-attributes.ts';

/** How a resource is now. */
export async function stateOf(host: QueryHost, resource: Resource, fingerprint: Fingerprint): Promise<PriorState> {
  const { kind, name } = partsOf(resource);
  switch (kind) {
    case 'path':
      return await pathState(host, name, fingerprint);
    case 'attributes': {
      const stat = await host.stat(name);
      return stat === undefined ? null : { is: 'attributes', mode: stat.mode, uid: stat.uid, gid: stat.gid };
    }
    case 'kernel':
      return await kernelState(host, name);
    case 'service': {
      const { exists, active, enabled, masked, fixed } = await host.service(name);
      return { is: 'service', exists, active, enabled: enabled && fixed !== true, masked };
    }
    case 'module':
      return (await host.stat(`/sys/module/${name}`)) === undefined ? null : { is: 'module' };
    case 'swap': {
      const row = swapsIn(await host.readText('/proc/swaps')).find(({ device }) => device === name);
      return row === undefined ? null : { is: 'swap', priority: row.priority };
    }
    case 'swap-file':
      return (await host.stat(name)) === undefined
        ? null
        : { is: 'swap-file', uuid: (await readSuperblock(host, name)).uuid ?? '' };
    case 'mount':
      return mountIn((await host.readText('/proc/self/mountinfo')) ?? '', name);
    case 'user':
      return await userState(host, name, fingerprint);
    case 'group': {
      const group = (await readAccounts(host)).groups.get(name);
      return group === undefined ? null : { is: 'group', gid: group.gid, members: group.members };
    }
    case 'tree':
      return null;
  }
}

/** Keeps what restoring this state needs: of a file a copy, and the file itself where that is possible. Returns the state to record. */
export async function keepContents(
  host: Host,
  resource: Resource,
  state: PriorState,
  fingerprint: Fingerprint,
): Promise<PriorState> {
  const { name } = partsOf(resource);
  if (state?.is === 'user') await keepCopy(host, state.password, await passwordField(host, name));
  if (state?.is !== 'file') return state;
  const content = state.kept ? await host.readFile(name) : undefined;
  if (content !== undefined) {
    const copy = fingerprint(sha256Of(content));
    await keepCopy(host, copy, content);
    // The file itself, under a second name, would be the secret in the clear beside its encrypted copy.
    if (isForOwnerOnly(state) && (await isSealed(host, copyPath(copy))))
      return { ...state, ...(await attributesOf(host, name)) };
  }
  return (await host.linkFile(name, secondName(name))) ? state : { ...state, ...(await attributesOf(host, name)) };
}

/** Such a file has no ACL that counts, and no capabilities. */
function isForOwnerOnly({ mode }: Attributes): boolean {
  return (mode & 0o177) === 0;
}

/** The state after a change, by which a later change of another program is noticed. For a service it is the verb. */
export function markOf(state: PriorState): string {
  if (state === null) return 'absent';
  switch (state.is) {
    case 'user': {
      const { uid: _uid, home: _home, ...changeable } = state;
      return JSON.stringify(changeable);
    }
    case 'symlink':
      return `link to ${state.target}`;
    case 'file':
      return `${state.fingerprint} ${modeAndOwner(state)}`;
    case 'directory':
    case 'attributes':
      return modeAndOwner(state);
    case 'kernel':
      return state.value;
    case 'swap-file':
      return `swap-file ${state.uuid}`;
    case 'mount':
      // Its device may have another name after a reboot.
      return `${state.type} ${state.options}`;
    default:
      return state.is;
  }
}

/** As a part of marks. */
export function modeAndOwner({ mode, uid, gid }: Pick<Attributes, 'mode' | 'uid' | 'gid'>): string {
  return `${mode.toString(8)} ${uid}:${gid}`;
}

/** Whether a resource is as our changes left it. Of a file that is its content. */
export function isOurs(marks: Marks, now: PriorState): boolean {
  const content = (mark: string): string => /^[0-9a-f]{32}(?= )/.exec(mark)?.[0] ?? mark;
  return isAnyOurs(marks, (mark) => content(mark) === content(markOf(now)));
}

/** Whether our changes gave a path this mode and this owner. Earlier versions recorded only the content. */
export function areAttributesOurs(marks: Marks, now: Pick<Attributes, 'mode' | 'uid' | 'gid'>): boolean {
  return isAnyOurs(marks, (mark) => mark.endsWith(modeAndOwner(now)) || /^[0-9a-f]{32}$/.test(mark));
}

export function isAnyOurs(marks: Marks, isOne: (mark: string) => boolean): boolean {
  return marks === undefined || marks.at(-1) === UNKNOWN || marks.some(isOne);
}

async function pathState(host: QueryHost, path: string, fingerprint: Fingerprint): Promise<PriorState> {
  const stat = await host.stat(path);
  if (stat === undefined) return null;
  if (stat.type === 'symlink') return { is: 'symlink', target: (await host.readLink(path)) ?? '' };
  if (stat.type !== 'file' && stat.type !== 'directory') return { is: 'unknown' };
  const { mode, uid, gid } = stat;
  const attributes = { mode, uid, gid };
  if (stat.type === 'directory') return { is: 'directory', ...attributes };
  const sha256 = (await host.sha256(path)) ?? '';
  return { is: 'file', ...attributes, fingerprint: fingerprint(sha256), kept: stat.size <= LARGEST_COPY };
}

async function kernelState(host: QueryHost, path: string): Promise<PriorState> {
  try {
    const value = await host.readText(path);
    return value === undefined ? null : { is: 'kernel', value: value.trim() };
  } catch {
    // Write-only keys and keys that are not set (EIO) cannot be read.
    return { is: 'unknown' };
  }
}

/** The rows of /proc/swaps (proc_swaps(5)). */
function swapsIn(text: string | undefined): readonly { readonly device: string; readonly priority: number }[] {
  return (text ?? '')
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device = '', , , , priority] = line.trim().split(/\s+/);
      return device === '' ? [] : [{ device: unescapeOctal(device), priority: Number(priority ?? -1) }];
    });
}

/** The topmost mount on a path (proc_pid_mountinfo(5)). */
function mountIn(mountinfo: string, path: string): PriorState {
  let found: PriorState = null;
  for (const line of mountinfo.split('\n')) {
    const [, , , , point, options = ''] = line.split(' ');
    if (point === undefined || unescapeOctal(point) !== path) continue;
    const [type = '', source = ''] = line.split(' - ')[1]?.split(' ') ?? [];
    found = { is: 'mount', source: unescapeOctal(source), type, options };
  }
  return found;
}

async function userState(host: QueryHost, name: string, fingerprint: Fingerprint): Promise<PriorState> {
  const { users, groups, shadow } = await readAccounts(host, [name]);
  const entry = users.get(name);
  if (entry === undefined) return null;
  const { uid, home, gid, gecos, shell } = entry;
  return {
    is: 'user',
    uid,
    home,
    gid,
    gecos,
    shell,
    groups: [...groups.values()].filter(({ members }) => members.includes(name)).map((group) => group.name),
    expires: shadow.get(name)?.expires ?? '',
    password: fingerprint(sha256Of(await passwordField(host, name))),
  };
}

async function passwordField(host: QueryHost, user: string): Promise<string> {
  return (await readAccounts(host, [user])).shadow.get(user)?.password.reveal() ?? '';
}
