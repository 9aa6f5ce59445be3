import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './process.ts';

/** The disk of a machine: the upper layer of its root file system, and the volumes of containerd and the kubelet. */
const DISK = ['upper', 'containerd', 'kubelet'] as const;

function snapshotOf(directory: string): string {
  return join(directory, 'snapshot');
}

/** Moves the disk of a machine that is powered off to its snapshot, and replaces it with a copy: see `revertDisk`. */
export async function snapshotDisk(directory: string): Promise<string> {
  const snapshot = snapshotOf(directory);
  if (existsSync(snapshot)) throw new Error(`${directory} has a snapshot already`);
  mkdirSync(snapshot);
  for (const part of DISK) renameSync(join(directory, part), join(snapshot, part));
  await revertDisk(directory);
  return join(snapshot, 'upper');
}

/**
 * Restores the disk of a machine that is powered off from its snapshot. The root file system becomes an empty layer over
 * that of the snapshot. The files of containerd's volume become hard links. This is safe because containerd rewrites only
 * its databases in place, which are copied, and containers do not start again after a power-off.
 */
export async function revertDisk(directory: string): Promise<void> {
  const snapshot = snapshotOf(directory);
  for (const part of [...DISK, 'work']) rmSync(join(directory, part), { recursive: true, force: true });
  for (const part of ['upper', 'work']) mkdirSync(join(directory, part));
  await mustRun('cp', ['-a', join(snapshot, 'kubelet'), directory]);
  await mustRun('cp', ['-al', join(snapshot, 'containerd'), directory]);
  const unlink = 'find "$1" -name "*.db" -exec cp -a {} {}.copy \\; -exec mv {}.copy {} \\;';
  await mustRun('sh', ['-euc', unlink, 'unlink', join(directory, 'containerd')]);
}
