import type { MountModel, SourceMount } from '@machineadm/document/model/index.ts';

/** Flags that the kernel shows in mountinfo as they were given; other options it rewrites, so they cannot be compared. */
const COMPARABLE = ['ro', 'nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'sync', 'dirsync', 'nosymfollow'];

/** How long a later boot waits for the device or the server before it continues without it, with a message. */
const LATER_BOOTS_SECONDS = 90;

/**
 * Options of the fstab entry: the document's, and what later boots need. `nofail`, so that a lost disk does not leave
 * the machine in emergency mode, out of reach; with it systemd orders nothing after the mount (systemd.mount(5)), so
 * the order before those who would write below the mount point is asked for by name.
 */
export function fstabOptions(mount: MountModel): readonly string[] {
  const { options } = mount;
  const has = (name: string): boolean => options.some((option) => option === name || option.startsWith(`${name}=`));
  const later = [
    'nofail',
    ...('source' in mount ? ofSource(mount) : [`x-systemd.device-timeout=${LATER_BOOTS_SECONDS}s`]),
    ...(mount.path === 'none' ? [] : ['x-systemd.before=containerd.service', 'x-systemd.before=kubelet.service']),
  ];
  const own = mount.type === 'bind' ? ['bind', ...options] : options;
  return [
    ...(own.length === 0 ? ['defaults'] : own),
    ...later.filter((option) => !has(option.split('=')[0] ?? option)),
  ];
}

/** A directory or swap file needs the file system that it is on, and NFS the network (systemd.mount(5)). */
function ofSource({ type, source }: SourceMount): readonly string[] {
  if (type === 'tmpfs') return [];
  if (type.startsWith('nfs')) return ['_netdev', `x-systemd.mount-timeout=${LATER_BOOTS_SECONDS}s`];
  // Options have no way to write a comma; systemd adds the same dependency by itself.
  return /[\s,]/.test(source) ? [] : [`x-systemd.requires-mounts-for=${source}`];
}

/** The options of mount(8), for a new mount and for a remount. */
export function mountArguments({ type, options }: MountModel, isRemount: boolean): readonly string[] {
  // Without `bind`, a remount changes the file system of the source everywhere.
  const all = [...(isRemount ? ['remount'] : []), ...(type === 'bind' ? ['bind'] : []), ...options];
  return all.length === 0 ? [] : ['-o', all.join(',')];
}

/** Options that the document asks for and that a mount does not have. */
export function missingOptions(wanted: readonly string[], present: readonly string[]): readonly string[] {
  return wanted.filter((option) => {
    const size = kibibytes(option);
    if (size !== undefined) return !present.some((other) => kibibytes(other) === size);
    return COMPARABLE.includes(option) && !present.includes(option);
  });
}

/** The size of a tmpfs, which the kernel shows in KiB (tmpfs(5)); undefined for other options and for a percentage. */
function kibibytes(option: string): number | undefined {
  const [, amount, unit = ''] = /^size=(\d+)([kmgKMG]?)$/.exec(option) ?? [];
  if (amount === undefined) return undefined;
  const factor = { '': 1 / 1024, k: 1, m: 2 ** 10, g: 2 ** 20 }[unit.toLowerCase()] ?? 1;
  // The kernel rounds up to pages.
  return Math.ceil((Number(amount) * factor) / 4) * 4;
}
