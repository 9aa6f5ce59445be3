import type { DiskModel } from '@machineadm/document/model/index.ts';
import type { BlockDevice } from '../../block-devices/device.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';
import { decideGrowth, type GrowthDecision, type GrowthFinding } from './decisions.ts';
import { growthFailed, partitionGrowth } from './growth.ts';
import { endOfSpace, grownScript, type PartitionTable } from './partition-layout.ts';
import { readPartitionTable } from './partition-table.ts';

/** How the last partition of a disk stands to the disk. */
export interface DiskGrowth {
  readonly finding: GrowthFinding;
  /** Counted from 1. */
  readonly partition: number;
  readonly fromBytes: number;
  readonly toBytes: number;
  /** True where the disk is larger than when its table was written. */
  readonly diskGrew: boolean;
}

export const NOT_LAST = 'another partition follows the one that is to grow';

/** What the last partition of a table could become on its disk as it is; undefined where there is no room. */
export function diskGrowth(disk: DiskModel, device: BlockDevice, table: PartitionTable): DiskGrowth | undefined {
  const last = table.partitions.at(-1);
  if (last === undefined) return undefined;
  const end = endOfSpace(disk.table, device.sizeBytes);
  const furthest = table.partitions.reduce((one, other) => (other.startBytes > one.startBytes ? other : one));
  const toBytes = partitionGrowth(end, furthest);
  if (toBytes === undefined) return undefined;
  const diskGrew =
    table.usableEndBytes === undefined
      ? disk.partitions.at(-1)?.size.kind === 'rest'
      : end - endOfSpace(disk.table, table.usableEndBytes) > 0;
  const finding = furthest === last ? 'room behind it' : 'room, but not behind it';
  return { finding, partition: table.partitions.length, fromBytes: furthest.sizeBytes, toBytes, diskGrew };
}

/** What becomes of it by the document. */
export function growthOf(disk: DiskModel, growth: DiskGrowth | undefined): GrowthDecision {
  return growth === undefined ? 'keep' : decideGrowth(growth.finding, disk.partitions.at(-1)?.grow === true);
}

/**
 * Writes the table with a larger last partition. Start, type, label and UUID of every partition stay; what is in it is not
 * touched. It may be in use: then the kernel is told by partition (BLKPG), which works while it is mounted.
 */
export async function growPartition(
  host: Host,
  device: BlockDevice,
  { partition, toBytes }: DiskGrowth,
  place: string,
  execution: Execution,
): Promise<void> {
  const target = `${place}.partitions[${partition - 1}]`;
  const { signal } = execution;
  const dumped = await host.run({ program: 'sfdisk', args: ['--dump', device.path], signal });
  const table = await readPartitionTable(host, device.path);
  if (dumped.status !== 0 || table === undefined)
    throw growthFailed(device.path, target, 'its table cannot be read', 'sfdisk', [dumped.stderr.trim()]);
  const args = ['--quiet', '--no-reread', '--no-tell-kernel', '--force', '--wipe=never', '--wipe-partitions=never'];
  const input = grownScript(dumped.stdout, partition, toBytes, table.sectorBytes);
  const written = await host.run({
    program: 'sfdisk',
    args: [...args, device.path],
    input,
    signal,
    supervised: true,
  });
  if (written.status !== 0)
    throw growthFailed(device.path, target, 'sfdisk did not write its table', 'sfdisk', [written.stderr.trim()]);
}
