import type { QueryHost } from '../../host/seam/host.ts';
import { jsonRows } from './json-rows.ts';

/** What is mounted on a mount point, as the kernel tells (findmnt(8)). */
export interface Mounted {
  /** `/dev/sdb1`, without the `[/subvolume]` of btrfs; `tmpfs`, … */
  readonly source: string;
  /** The kernel's name of the device; undefined when no block device is mounted. */
  readonly device: string | undefined;
  readonly type: string;
  readonly options: readonly string[];
}

/** The topmost mount on a path; undefined when the path is no mount point. */
export async function mountedOn(host: QueryHost, path: string): Promise<Mounted | undefined> {
  const args = ['--json', '--kernel', '--output', 'SOURCE,FSTYPE,OPTIONS', '--mountpoint', path];
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
  };
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
