import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './process.ts';

/** What a machine writes to: its root file system's own layer, and the volumes of containerd and the kubelet. */
const DISK = ['upper', 'containerd', 'kubelet'] as const;

function snapshotOf(directory: string): string {
  return join(directory, 'snapshot');
}

/** Moves the disk of a machine that is powered off aside, and puts a copy in its place: see `revertDisk`. */
export async function snapshotDisk(directory: string): Promise<string> {
  const snapshot = snapshotOf(directory);
  if (existsSync(snapshot)) throw new Error(`${directory} has a snapshot already`);
  mkdirSync(snapshot);
  for (const part of DISK) renameSync(join(directory, part), join(snapshot, part));
  await revertDisk(directory);
  return join(snapshot, 'upper');
}

/**
 * Gives a machine that is powered off the disk of its snapshot again. The root file system becomes an empty layer over the
 * snapshot's; containerd's volume is linked file by file, which is safe because containerd replaces files and rewrites
 * none in place but its databases, and containers of a machine that was powered off do not run again.
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
