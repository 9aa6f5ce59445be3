import { posix } from 'node:path';
import type { DeviceMount, MountModel } from '@machineadm/document/model/index.ts';
import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { type BlockDevice, describeDevice } from './device.ts';
import { entryLine, type FstabEntry, foreignSources, ownEntry } from './fstab.ts';
import { fstabOptions, missingOptions } from './mount-options.ts';
import { kernelName, type Mounted, mountedOn } from './mounted.ts';
import { readSuperblock, type Superblock } from './signatures.ts';
import { activeSwaps } from './swap-lines.ts';

/** Services that keep their state in a directory of their own. */
const KEEPERS = [
  { service: 'kubelet.service', directory: '/var/lib/kubelet' },
  { service: 'containerd.service', directory: '/var/lib/containerd' },
  { service: 'crio.service', directory: '/var/lib/containers' },
] as const;

export interface MountState {
  /** What mount(8) or swapon(8) gets: a device, or the source of the document. */
  readonly source: string;
  /** What must be created first, which is the source. */
  readonly creates?: 'directory' | 'swap file';
  /** What the mount would hide. */
  readonly hides: readonly string[];
  /** The wanted line of fstab. */
  readonly entry: FstabEntry;
  /** True if fstab has this entry, or another entry for the same device and path. */
  readonly inFstab: boolean;
  readonly mounted: 'no' | 'yes' | 'with other options';
  /** Why it cannot be mounted, in words: something else is there. */
  readonly conflict: string | undefined;
  /** Services that run now on the directory that the mount would hide. */
  readonly running: readonly string[];
}

/** undefined: there is no file system on the device (yet). */
export async function inspectDevice(
  host: QueryHost,
  mount: DeviceMount,
  device: BlockDevice,
): Promise<MountState | undefined> {
  const superblock = await readSuperblock(host, device.path);
  const type = mount.type ?? superblock.type;
  if (type === undefined || superblock.type === undefined) return undefined;
  const fstab = (await host.readText(FSTAB)) ?? '';
  const swap = mount.path === 'none';
  const entry: FstabEntry = {
    source: superblock.uuid === undefined ? sourceOf(mount, device) : `UUID=${superblock.uuid}`,
    path: mount.path,
    type,
    options: fstabOptions(mount),
    // xfs and btrfs are not checked at boot (fsck.xfs(8), fsck.btrfs(8)); the others only where fsck is sure to be there.
    pass: type.startsWith('ext') ? 2 : 0,
  };
  const foreign = swap ? [] : foreignSources(fstab, mount.path);
  const strangers: string[] = [];
  for (const source of foreign) if (!(await meansDevice(host, source, device, superblock))) strangers.push(source);
  const inFstab = ownEntry(fstab, fstabKey(mount)) === entryLine(entry) || foreign.length > strangers.length;
  const common = { source: device.path, entry, inFstab, hides: [] };
  if (swap) {
    const active = activeSwaps(await host.readText('/proc/swaps'));
    const on = active.includes(device.path) || active.includes(`/dev/${device.name}`);
    return { ...common, mounted: on ? 'yes' : 'no', conflict: undefined, running: [] };
  }
  const there = await mountedOn(host, mount.path);
  if (there !== undefined && (there.device !== device.name || (type !== 'auto' && there.type !== type))) {
    const conflict = `${there.source} (${there.type}) is mounted on ${mount.path}`;
    return { ...common, mounted: 'no', conflict, running: [] };
  }
  if (strangers.length > 0) {
    const conflict = `${FSTAB} has ${strangers.join(', ')} for ${mount.path}`;
    return { ...common, mounted: 'no', conflict, running: [] };
  }
  return { ...common, ...(await stateAt(host, mount, there)) };
}

/** Whether it is mounted with the options of the document, and if not, what is in its way. */
export async function stateAt(
  host: QueryHost,
  { path, options }: MountModel,
  there: Mounted | undefined,
): Promise<Pick<MountState, 'mounted' | 'conflict' | 'running' | 'hides'>> {
  if (there !== undefined) {
    const mounted = missingOptions(options, there.options).length === 0 ? 'yes' : 'with other options';
    return { mounted, conflict: undefined, running: [], hides: [] };
  }
  const conflict = await obstacle(host, path);
  const hides = conflict === undefined ? ((await host.list(path)) ?? []) : [];
  return { mounted: 'no', conflict, running: await runningOn(host, path), hides };
}

/** What stands where the mount point has to be; undefined for a directory or nothing. */
export async function obstacle(host: QueryHost, path: string): Promise<string | undefined> {
  if (path === 'none') return undefined;
  const stat = await host.stat(path);
  if (stat === undefined) return await obstacleAbove(host, path);
  if (stat.type === 'directory') return undefined;
  // systemd refuses a mount point that is a link (systemd.mount(5), Where=).
  return `${path} is a ${stat.type === 'symlink' ? 'symbolic link' : stat.type}, not a directory`;
}

/** Whatever stands where a directory above a path has to be. */
async function obstacleAbove(host: QueryHost, path: string): Promise<string | undefined> {
  const above = posix.dirname(path);
  const stat = above === '/' ? undefined : await host.stat(above);
  if (stat === undefined) return above === '/' ? undefined : await obstacleAbove(host, above);
  // A link may lead to a directory.
  return stat.type === 'directory' || stat.type === 'symlink'
    ? undefined
    : `${above} is a ${stat.type}, not a directory`;
}

/** What is mounted, for people. */
export function describeMounted(mount: MountModel): string {
  if ('device' in mount) return describeDevice(mount.device);
  return mount.type === 'tmpfs' ? 'a tmpfs' : mount.source;
}

/** Names a mount for good in fstab and in change ids. */
export function fstabKey(mount: MountModel): string {
  return mount.path === 'none' ? swapKey(describeMounted(mount)) : mount.path;
}

/** The same for swap by the path of its file, or the description of its device. */
export function swapKey(name: string): string {
  return `swap on ${name}`;
}

/** Services that work in a directory which a mount on this path would hide. */
export async function runningOn(host: QueryHost, path: string): Promise<readonly string[]> {
  const running: string[] = [];
  for (const { service, directory } of KEEPERS) {
    const concerned = `${directory}/`.startsWith(`${path}/`) || path.startsWith(`${directory}/`);
    if (!concerned) continue;
    const { active, detail } = await host.service(service);
    // A kubelet without its configuration ends and is started again: activating, most of the time.
    if (active || detail.startsWith('activating')) running.push(service);
  }
  return running;
}

function sourceOf({ device: { by, partition } }: DeviceMount, device: BlockDevice): string {
  // A name that the document chose outlives a reboot more surely than the kernel's.
  return by.kind === 'path' && partition === undefined ? by.path : device.path;
}

async function meansDevice(
  host: QueryHost,
  source: string,
  device: BlockDevice,
  superblock: Superblock,
): Promise<boolean> {
  const [, tag, quoted = ''] = /^([A-Z]+)=(.*)$/.exec(source) ?? [];
  const value = quoted.replace(/^"(.*)"$/, '$1');
  if (tag === 'UUID') return value.toLowerCase() === superblock.uuid?.toLowerCase();
  if (tag === 'LABEL') return value === superblock.label;
  if (tag === 'PARTLABEL') return value === superblock.partitionLabel;
  return tag === undefined && (await kernelName(host, source)) === device.name;
}
