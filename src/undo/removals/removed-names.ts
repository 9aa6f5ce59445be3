import type { AbsentNameModel, MountModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { FSTAB, sudoersPath, unitPath } from '@machineadm/document/ownership/paths.ts';
import { readAccounts } from '../../accounts/databases.ts';
import { changeAccount, missingTools } from '../../accounts/tools.ts';
import { findDevice } from '../../block-devices/device.ts';
import { foreignSources, hasForeignSwap, ownEntry, withoutEntry } from '../../block-devices/fstab.ts';
import { swapKey } from '../../block-devices/mount-state.ts';
import { type Mounted, mountedOn } from '../../block-devices/mounted.ts';
import { readSuperblock } from '../../block-devices/signatures.ts';
import { boundDirectory, isMountOf } from '../../block-devices/source-state.ts';
import { activeSwaps } from '../../block-devices/swap-lines.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { Obstacle } from '../../owned-files/obstacles.ts';
import { mountsBelow } from '../../owned-files/tree-below.ts';
import type { Change, Execution, FollowUp } from '../../step/index.ts';
import { stopUnit } from './unit-files.ts';

/** A user, group, service or mount that is there and is not to be. */
export interface FoundName {
  readonly removed: AbsentNameModel;
  /** A description of the change. */
  readonly what: string;
  readonly owes: readonly FollowUp[];
}

/** The result of looking for one. undefined: nothing is left of it; `why`: it is not removed. */
type Found =
  | undefined
  | { readonly what: string; readonly owes?: readonly FollowUp[] }
  | { readonly why: string; readonly remedy: string };

/** Services first, which may run as a user or on a mount; groups after the users that they are the primary group of. */
const ORDER: readonly AbsentNameModel['kind'][] = ['service', 'swap-file', 'mount', 'user', 'group'];

const PROGRAMS: Readonly<Record<AbsentNameModel['kind'], readonly string[]>> = {
  service: [],
  'swap-file': ['swapoff'],
  mount: ['umount'],
  user: ['userdel'],
  group: ['groupdel'],
};

/** Where packages and generators put units (systemd.unit(5)). */
const OTHER_UNITS = [
  ...['/usr/lib', '/lib', '/usr/local/lib', '/run'].map((path) => `${path}/systemd/system`),
  ...['generator.early', 'generator', 'generator.late', 'transient'].map((name) => `/run/systemd/${name}`),
];

/** Which of these names exist, and what prevents their removal. */
export async function findNames(
  host: QueryHost,
  removed: readonly AbsentNameModel[],
): Promise<{ readonly names: readonly FoundName[]; readonly obstacles: readonly Obstacle[] }> {
  const names: FoundName[] = [];
  const obstacles: Obstacle[] = [];
  for (const one of removed.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))) {
    const found = await FIND[one.kind](host, one, removed);
    const place = { path: pathOf(one), scope: 'base' as const };
    if (found === undefined) continue;
    if ('why' in found) {
      const what = `the ${one.kind} ${one.name} is not removed: ${found.why}`;
      obstacles.push({ ...place, reason: 'RemovalRefused', what, remedy: found.remedy });
      continue;
    }
    const missing = await missingTools(host, new Set(PROGRAMS[one.kind]));
    for (const { what, remedy } of missing) obstacles.push({ ...place, reason: 'AccountToolMissing', what, remedy });
    names.push({ removed: one, what: found.what, owes: found.owes ?? [] });
  }
  return { names, obstacles };
}

export function changeOf({ removed, what, owes }: FoundName): Omit<Change, 'payload'> {
  const scope = /^(?:mount|swap-file)$/.test(removed.kind) ? 'node' : 'base';
  const id = `removals${pathOf(removed)}`;
  return { id, summary: what, action: 'remove', scope, owes, ineffective: 'RemovalRefused' };
}

/** For the ids of changes: `/users/ada`, `/mounts/srv/data`. */
function pathOf({ kind, name }: AbsentNameModel): string {
  return `/${kind}s/${name.replace(/^\//, '')}`;
}

/** Removes one. It is no error if it is already gone: a run may have been killed while it removed it. */
export async function removeName(host: Host, removed: AbsentNameModel, { signal }: Execution): Promise<void> {
  const { kind, name } = removed;
  switch (kind) {
    case 'user': {
      await host.removeFile(sudoersPath(name));
      if (!(await readAccounts(host)).users.has(name)) return;
      // Its own group goes with it (userdel(8), USERGROUPS_ENAB).
      const changes = [`user:${name}`, `group:${name}`] as const;
      const command = { program: 'userdel', args: ['--', name], signal, changes };
      return await changeAccount(host, command, `the user ${name} was not removed`);
    }
    case 'group': {
      if (!(await readAccounts(host)).groups.has(name)) return;
      const command = { program: 'groupdel', args: ['--', name], signal, changes: [`group:${name}` as const] };
      return await changeAccount(host, command, `the group ${name} was not removed`);
    }
    case 'service': {
      const unit = unitPath(name);
      await stopUnit(host, unit);
      for (const dropIn of (await host.list(`${unit}.d`)) ?? []) await host.removeFile(`${unit}.d/${dropIn}`);
      await host.removeDirectory(`${unit}.d`);
      return await host.removeFile(unit);
    }
    case 'swap-file':
      return await removeSwapFile(host, name, signal);
    case 'mount':
      return await unmount(host, name, signal);
  }
}

const FIND: Readonly<
  Record<
    AbsentNameModel['kind'],
    (host: QueryHost, removed: AbsentNameModel, all: readonly AbsentNameModel[]) => Promise<Found>
  >
> = {
  async user(host, { name }) {
    const entry = (await readAccounts(host)).users.get(name);
    if (entry?.uid === 0) return { why: 'it has the id 0', remedy: 'Remove the entry.' };
    if (entry !== undefined) return { what: `remove the user ${name}; ${entry.home} stays` };
    if ((await host.stat(sudoersPath(name))) !== undefined) return { what: `remove ${sudoersPath(name)}` };
    if ((await host.userId(name)) === undefined) return undefined;
    return { why: 'it comes from a directory and not from /etc/passwd', remedy: 'Remove it in the directory.' };
  },

  async group(host, { name }, all) {
    const { groups, users } = await readAccounts(host);
    const entry = groups.get(name);
    if (entry === undefined) {
      if ((await host.groupId(name)) === undefined) return undefined;
      return { why: 'it comes from a directory and not from /etc/group', remedy: 'Remove it in the directory.' };
    }
    if (entry.gid === 0) return { why: 'it has the id 0', remedy: 'Remove the entry.' };
    const stays = [...users.values()].find(
      (user) => user.gid === entry.gid && !all.some((other) => other.kind === 'user' && other.name === user.name),
    );
    if (stays === undefined) return { what: `remove the group ${name}` };
    return { why: `it is the primary group of ${stays.name}`, remedy: `Give ${stays.name} another group first.` };
  },

  async service(host, { name }) {
    const unit = unitPath(name);
    const [stat, dropIns = []] = [await host.stat(unit), await host.list(`${unit}.d`)];
    for (const directory of OTHER_UNITS) {
      const other = `${directory}${unit.slice(unit.lastIndexOf('/'))}`;
      if ((await host.stat(other)) === undefined) continue;
      return {
        why: `${other} is its unit, which a package or a generator brings`,
        remedy: 'Set masked: true instead.',
      };
    }
    if (stat !== undefined && stat.type !== 'file') {
      return { why: `${unit} is a ${stat.type}`, remedy: 'Unmask it (masked: false), or remove what is there.' };
    }
    if (stat === undefined && dropIns.length === 0) return undefined;
    const what = [...(stat === undefined ? [] : [unit]), ...dropIns.map((dropIn) => `${unit}.d/${dropIn}`)];
    return { what: `stop and disable ${name}, remove ${what.join(', ')}`, owes: ['daemon-reload'] };
  },

  async 'swap-file'(host, { name: file }) {
    const fstab = (await host.readText(FSTAB)) ?? '';
    if (hasForeignSwap(fstab, file))
      return { why: `${FSTAB} has an entry of others for it`, remedy: 'Remove that entry manually.' };
    const isOwn = ownEntry(fstab, swapKey(file)) !== undefined;
    const stat = await host.stat(file);
    if (stat === undefined && !isOwn) return undefined;
    if (stat !== undefined && (stat.type !== 'file' || (await readSuperblock(host, file)).type !== 'swap'))
      return { why: `${file} is not a swap file`, remedy: 'Remove the entry, or look at what the path holds.' };
    const what = [
      ...(stat === undefined ? [] : [`turn off and delete the swap file ${file}`]),
      ...(isOwn ? [`remove it from ${FSTAB}`] : []),
    ];
    return { what: what.join(' and '), owes: isOwn ? ['daemon-reload'] : [] };
  },

  async mount(host, { name: path, mount }) {
    const fstab = (await host.readText(FSTAB)) ?? '';
    const [foreign] = foreignSources(fstab, path);
    if (foreign !== undefined) {
      return { why: `${FSTAB} has an entry of others for it, ${foreign}`, remedy: 'Remove that entry manually.' };
    }
    const isOwn = ownEntry(fstab, path) !== undefined;
    const there = await mountedOn(host, path);
    if (there !== undefined && !(await isMounted(host, mount, there))) {
      const used = mount !== undefined && 'device' in mount ? 'device' : 'source';
      return { why: `${there.source} is mounted there`, remedy: `Use this ${used}, or unmount it manually.` };
    }
    const below = there === undefined ? undefined : (await mountsBelow(host, path)).find((other) => other !== path);
    if (below !== undefined) return { why: `${below} is mounted below it`, remedy: `Unmount ${below} first.` };
    if (there === undefined && !isOwn) return undefined;
    const what = [...(there === undefined ? [] : [`unmount ${path}`]), ...(isOwn ? [`remove it from ${FSTAB}`] : [])];
    return { what: what.join(' and '), owes: isOwn ? ['daemon-reload'] : [] };
  },
};

async function isMounted(host: QueryHost, mount: MountModel | undefined, there: Mounted): Promise<boolean> {
  if (mount === undefined) return false;
  if ('device' in mount) return (await findDevice(host, mount.device))?.name === there.device;
  return isMountOf(mount, there, (await boundDirectory(host, mount.source)).identity);
}

async function removeEntry(host: Host, key: string): Promise<void> {
  const fstab = await host.readText(FSTAB);
  const stat = await host.stat(FSTAB);
  if (fstab === undefined || stat === undefined || ownEntry(fstab, key) === undefined) return;
  const { mode, uid, gid } = stat;
  await host.writeFile({ path: FSTAB, content: withoutEntry(fstab, key), mode, uid, gid });
}

/** The file goes last: until then another run knows what it is. */
async function removeSwapFile(host: Host, file: string, signal: AbortSignal): Promise<void> {
  await removeEntry(host, swapKey(file));
  if (activeSwaps(await host.readText('/proc/swaps')).includes(await host.realPath(file))) {
    const changes = [`swap:${file}` as const];
    const { status, stderr } = await host.run({ program: 'swapoff', args: ['--', file], signal, changes });
    if (status !== 0)
      throw new MachineadmError({
        reason: 'SwapNotDisabled',
        summary: `Swap on ${file} could not be turned off.`,
        remedy: 'Free memory: swapoff needs memory for what is swapped out. Then run again.',
        evidence: [{ source: 'swapoff', text: stderr.trim().split('\n')[0] ?? '' }],
        retryable: true,
      });
  }
  // As the kernel changes its content, nothing of it is kept.
  await host.run({ program: 'rm', args: ['-f', '--', file], signal, changes: [`swap-file:${file}`] });
}

async function unmount(host: Host, path: string, signal: AbortSignal): Promise<void> {
  await removeEntry(host, path);
  if ((await mountedOn(host, path)) === undefined) return;
  const changes = [`mount:${path}` as const];
  const { status, stderr } = await host.run({ program: 'umount', args: ['--', path], signal, changes });
  if (status === 0) return;
  throw new MachineadmError({
    reason: 'MountFailed',
    summary: `${path} could not be unmounted`,
    remedy: `Stop the processes that use ${path} ("fuser -vm ${path}"), then run again.`,
    evidence: [{ source: 'umount', text: stderr.trim().split('\n')[0] ?? '' }],
    retryable: true,
  });
}
