import type { MountModel } from '@machineadm/document/model.ts';

/** Flags that the kernel shows in mountinfo as they were given; other options it rewrites, so they cannot be compared. */
const COMPARABLE = ['ro', 'nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'sync', 'dirsync', 'nosymfollow'];

/** How long a later boot waits for the device before it continues without it, with a message. */
const LATER_BOOTS_SECONDS = 90;

/**
 * Options of the fstab entry: the document's, and what later boots need. `nofail`, so that a lost disk does not leave
 * the machine in emergency mode, out of reach; with it systemd orders nothing after the mount (systemd.mount(5)), so
 * the order before those who would write below the mount point is asked for by name.
 */
export function fstabOptions(options: readonly string[], swap: boolean): readonly string[] {
  const has = (name: string): boolean => options.some((option) => option === name || option.startsWith(`${name}=`));
  const later = [
    'nofail',
    `x-systemd.device-timeout=${LATER_BOOTS_SECONDS}s`,
    ...(swap ? [] : ['x-systemd.before=containerd.service', 'x-systemd.before=kubelet.service']),
  ];
  const first = options.length === 0 ? ['defaults'] : options;
  return [...first, ...later.filter((option) => !has(option.split('=')[0] ?? option))];
}

/** Options that the document asks for and that a mount does not have. */
export function missingOptions(wanted: readonly string[], present: readonly string[]): readonly string[] {
  return wanted.filter((option) => COMPARABLE.includes(option) && !present.includes(option));
}

/** The mounts in the order in which they are made: by depth, then as the document has them; swap last. */
export function byDepth(mounts: readonly MountModel[]): readonly MountModel[] {
  const depth = ({ path }: MountModel): number =>
    path === 'none' ? Number.POSITIVE_INFINITY : path.split('/').filter((part) => part !== '').length;
  // Infinity − Infinity is not a number: two swap areas stay as they are.
  return mounts.toSorted((a, b) => (depth(a) === depth(b) ? 0 : depth(a) - depth(b)));
}
