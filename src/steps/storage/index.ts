/** Storage: partition tables, then what is on the partitions, then where that is mounted. Each is a step of its own. */
export { disks } from './disks.ts';
export { filesystems } from './filesystems.ts';
export { mounts } from './mounts.ts';
