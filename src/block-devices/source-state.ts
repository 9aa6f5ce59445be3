import { posix } from 'node:path';
import type { SourceMount } from '@machineadm/document/model/index.ts';
import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { entryLine, type FstabEntry, foreignEntries, hasForeignSwap, ownEntry } from './fstab.ts';
import { fstabOptions } from './mount-options.ts';
import { fstabKey, type MountState, obstacle, stateAt } from './mount-state.ts';
import { type Mounted, mountedOn, placeOf } from './mounted.ts';
import { readSuperblock } from './signatures.ts';
import { activeSwaps } from './swap-lines.ts';

/** How a mount without a device is now. What its source is on must be mounted. */
export async function inspectSource(host: QueryHost, mount: SourceMount): Promise<MountState> {
  const { source, type, path } = mount;
  const fstab = (await host.readText(FSTAB)) ?? '';
  const entry: FstabEntry = {
    source,
    path,
    type: type === 'bind' ? 'none' : type,
    options: fstabOptions(mount),
    pass: 0,
  };
  const isOwn = ownEntry(fstab, fstabKey(mount)) === entryLine(entry);
  if (type === 'swap') return await swapState(host, mount, entry, isOwn || hasForeignSwap(fstab, source));
  const foreign = foreignEntries(fstab, path);
  const strangers = foreign.filter((other) => (type === 'tmpfs' ? other.type !== type : other.source !== source));
  const common = { source, entry, inFstab: isOwn || foreign.length > strangers.length };
  const refused = (conflict: string): MountState => ({ ...common, mounted: 'no', conflict, running: [], hides: [] });
  const bound = type === 'bind' ? await boundDirectory(host, source) : undefined;
  if (bound?.conflict !== undefined) return refused(bound.conflict);
  const there = await mountedOn(host, path);
  if (there !== undefined && !isMountOf(mount, there, bound?.identity))
    return refused(`${there.source} (${there.type}) is mounted on ${path}`);
  const [stranger] = strangers;
  if (stranger !== undefined) return refused(`${FSTAB} has ${stranger.source} for ${path}`);
  const creates = bound !== undefined && bound.identity === undefined ? ({ creates: 'directory' } as const) : {};
  return { ...common, ...creates, ...(await stateAt(host, mount, there)) };
}

/** Whether what is mounted is this mount. */
export function isMountOf({ type, source }: SourceMount, there: Mounted, identity: string | undefined): boolean {
  if (type === 'bind') return identity !== undefined && there.identity === identity;
  if (type === 'tmpfs') return there.type === 'tmpfs';
  // The kernel calls version 4 nfs4, whichever type was asked for.
  return there.type.startsWith('nfs') && there.source.replace(/(.)\/$/, '$1') === source;
}

/** What is mounted where the directory is bound. undefined: it does not exist. */
export async function boundDirectory(
  host: QueryHost,
  directory: string,
): Promise<{ readonly identity?: string | undefined; readonly conflict?: string }> {
  const conflict = await obstacle(host, directory);
  if (conflict !== undefined) return { conflict };
  if ((await host.stat(directory)) === undefined) return {};
  return { identity: (await placeOf(host, directory))?.identity ?? '' };
}

async function swapState(
  host: QueryHost,
  { source, sizeBytes = 0 }: SourceMount,
  entry: FstabEntry,
  inFstab: boolean,
): Promise<MountState> {
  const common = { source, entry, inFstab, running: [], hides: [] } as const;
  const stat = await host.stat(source);
  if (stat === undefined) {
    const above = await obstacle(host, source);
    return { ...common, creates: 'swap file', mounted: 'no', conflict: above };
  }
  if (stat.type !== 'file') return { ...common, mounted: 'no', conflict: `${source} is a ${stat.type}, not a file` };
  if ((await readSuperblock(host, source)).type !== 'swap')
    return { ...common, mounted: 'no', conflict: `${source} is a file that is not a swap file` };
  if (stat.size !== sizeBytes) {
    const conflict = `${source} is a swap file of ${stat.size} bytes, and the document has ${sizeBytes}`;
    return { ...common, mounted: 'no', conflict };
  }
  const active = activeSwaps(await host.readText('/proc/swaps'));
  const isOn = active.includes(await host.realPath(source));
  return { ...common, mounted: isOn ? 'yes' : 'no', conflict: undefined };
}

/** Why the file system of a directory does not support swap files; undefined where it can, or nothing is known of it. */
export async function swapUnfit(host: QueryHost, file: string): Promise<string | undefined> {
  let directory = posix.dirname(file);
  while (directory !== '/' && (await host.stat(directory)) === undefined) directory = posix.dirname(directory);
  const type = (await placeOf(host, directory))?.type ?? '';
  // swapon(2) needs a map of the file's blocks, which these do not have.
  if (!/^(?:tmpfs|ramfs|rootfs|overlay|aufs|nfs4?|cifs|smb3|zfs|9p|virtiofs|fuse.*|squashfs|ceph)$/.test(type))
    return undefined;
  return `${file} would be on ${type}, which does not support swap files`;
}
