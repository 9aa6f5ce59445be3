import type { DiskModel } from '@machineadm/document/model/index.ts';
import { type BlockDevice, findDevice, partitionsKnown } from '../../block-devices/device.ts';
import { describeContents, readContents } from '../../block-devices/signatures.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type DiskDecision, type DiskFinding, decideDisk } from './decisions.ts';
import { type DiskGrowth, diskGrowth, growthOf } from './partition-growth.ts';
import { type PartitionTable, tableDifference } from './partition-layout.ts';
import { readPartitionTable } from './partition-table.ts';
import { usersOf } from './usage.ts';

export interface DiskState {
  readonly device: BlockDevice;
  readonly finding: DiskFinding;
  /** What the disk holds, as text for people. */
  readonly what: string;
  readonly users: readonly string[];
  /** True when the kernel shows every partition of the table. */
  readonly known: boolean;
  /** What its last partition could become; undefined where there is no room. */
  readonly growth?: DiskGrowth | undefined;
}

export async function inspectDisk(host: QueryHost, disk: DiskModel, device: BlockDevice): Promise<DiskState> {
  const contents = await readContents(host, device.path);
  const users = await usersOf(host, device.path);
  const nothing = { device, users, known: true };
  if (contents.signatures.length === 0) return { ...nothing, finding: 'blank', what: 'nothing' };
  // A protective MBR is part of a GPT; anything besides a table is reported first.
  const tableOnly = contents.signatures.every((name) => ['gpt', 'PMBR', 'dos'].includes(name));
  const table = tableOnly ? await readPartitionTable(host, device.path) : undefined;
  if (table === undefined) return { ...nothing, finding: 'other signature', what: describeContents(contents) };
  const difference = tableDifference(disk, device.sizeBytes, table);
  if (difference === undefined) {
    const kernel = await partitionsKnown(host, device.name);
    // After a partition has grown, the kernel keeps its old size until partx updates it.
    const grows = disk.partitions.at(-1)?.grow === true;
    const known =
      kernel.size >= disk.partitions.length &&
      (!grows || kernel.get(disk.partitions.length)?.sizeBytes === table.partitions.at(-1)?.sizeBytes);
    const growth = diskGrowth(disk, device, table);
    return { device, users, known, growth, finding: 'matching table', what: describeTable(table) };
  }
  return { ...nothing, finding: 'different table', what: `${describeTable(table)} (${difference})` };
}

/** The partition that the step `disks` is going to grow; undefined where there is none. */
export async function growingPartition(host: QueryHost, disk: DiskModel): Promise<BlockDevice | undefined> {
  if (disk.partitions.at(-1)?.grow !== true) return undefined;
  const device = await findDevice(host, disk.device);
  const state = device === undefined ? undefined : await inspectDisk(host, disk, device);
  const isGoingTo = state !== undefined && (growthOf(disk, state.growth) === 'grow' || !state.known);
  return isGoingTo ? (await partitionsKnown(host, state.device.name)).get(disk.partitions.length) : undefined;
}

export function decisionOf(disk: DiskModel, state: DiskState): DiskDecision {
  return decideDisk(state.finding, disk.wipe, state.users.length > 0);
}

/** True until a disk is partitioned: only then is it known what its partitions are and contain. */
export async function awaitsPartitioning(host: QueryHost, disk: DiskModel): Promise<boolean> {
  const device = await findDevice(host, disk.device);
  if (device === undefined) return true;
  const state = await inspectDisk(host, disk, device);
  return state.finding !== 'matching table' || (!state.known && state.growth === undefined);
}

function describeTable({ kind, partitions }: PartitionTable): string {
  const sizes = partitions.map(({ sizeBytes }) => mebibytes(sizeBytes)).join(', ');
  if (partitions.length === 0) return `an empty ${kind} table`;
  return `a ${kind} table with ${partitions.length === 1 ? 'a partition' : 'partitions'} of ${sizes}`;
}

export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
