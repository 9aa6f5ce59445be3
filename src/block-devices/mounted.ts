import type { QueryHost } from '../host/seam/host.ts';
import { jsonRows } from './json-rows.ts';

/** What is mounted on a mount point, as the kernel tells (findmnt(8)). */
export interface Mounted {
  /** `/dev/sdb1`, without the `[/subvolume]` of btrfs; `tmpfs`, … */
  readonly source: string;
  /** The kernel's name of the device; undefined when no block device is mounted. */
  readonly device: string | undefined;
  readonly type: string;
  readonly options: readonly string[];
  /** The file system and the directory of it that is mounted, which a bind mount has in common with its source. */
  readonly identity: string;
}

/** The topmost mount on a path; undefined when the path is no mount point. */
export async function mountedOn(host: QueryHost, path: string): Promise<Mounted | undefined> {
  const args = ['--json', '--kernel', '--output', 'SOURCE,FSTYPE,OPTIONS,FSROOT,MAJ:MIN', '--mountpoint', path];
  const { status, stdout } = await host.query({ program: 'findmnt', args });
  if (status !== 0 || stdout.trim() === '') return undefined;
  const row = jsonRows(stdout, 'filesystems').at(-1);
  if (row === undefined) return undefined;
  const [plain = ''] = row.source?.split('[') ?? [];
  const source = row.source?.endsWith(']') === true ? plain : (row.source ?? '');
  return {
    source,
    device: source.startsWith('/') ? await kernelName(host, source) : undefined,
    type: row.fstype ?? '',
    options: (row.options ?? '').split(','),
    identity: identityOf(row['maj:min'], row.fsroot ?? ''),
  };
}

/** What a path is on. */
export interface Place {
  /** The type of the file system. */
  readonly type: string;
  /** As `Mounted` has it, for the path itself. */
  readonly identity: string;
}

/** The file system of an existing directory; undefined where findmnt(8) does not tell. */
export async function placeOf(host: QueryHost, directory: string): Promise<Place | undefined> {
  // Links of the directories above lead elsewhere than they seem to.
  const path = await host.realPath(directory);
  const args = ['--json', '--kernel', '--output', 'TARGET,FSTYPE,FSROOT,MAJ:MIN', '--target', path];
  const { status, stdout } = await host.query({ program: 'findmnt', args });
  const row = status === 0 && stdout.trim() !== '' ? jsonRows(stdout, 'filesystems').at(-1) : undefined;
  if (row === undefined) return undefined;
  const { target = '/', fsroot = '/', fstype = '' } = row;
  const below = path.slice(target === '/' ? 0 : target.length);
  return { type: fstype, identity: identityOf(row['maj:min'], `${fsroot === '/' ? '' : fsroot}${below}` || '/') };
}

function identityOf(device = '', root: string): string {
  return `${device.trim()} ${root}`;
}

/** `sdb1` of `/dev/disk/by-id/…`; undefined for what is no block device. */
export async function kernelName(host: QueryHost, path: string): Promise<string | undefined> {
  const args = ['--json', '--nodeps', '--paths', '--output', 'NAME,KNAME', path];
  const { status, stdout } = await host.query({ program: 'lsblk', args });
  if (status !== 0) return undefined;
  return jsonRows(stdout, 'blockdevices')[0]
    ?.kname?.replace(/^\/dev\//, '')
    .replaceAll('/', '!');
}
