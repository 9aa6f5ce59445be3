import type { DeviceIdentity, DeviceSelector, DiskModel } from '@machineadm/document/model/index.ts';
import type { BlockDevice } from '../../block-devices/device.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { awaitsPartitioning, growingPartition } from './disk-state.ts';

/** True for a partition of a disk that the document partitions and that is not partitioned yet. */
export async function willBePartitioned(
  host: QueryHost,
  disks: readonly DiskModel[],
  selector: DeviceSelector,
): Promise<boolean> {
  const disk = disks.find((candidate) => isPartOf(candidate, selector));
  return disk !== undefined && (await awaitsPartitioning(host, disk));
}

/** True for a partition that an earlier step is going to make larger. */
export async function growsBefore(
  host: QueryHost,
  disks: readonly DiskModel[],
  { name }: BlockDevice,
): Promise<boolean> {
  for (const disk of disks) if ((await growingPartition(host, disk))?.name === name) return true;
  return false;
}

/** Whether the document, by its words alone, means a partition of this disk. */
function isPartOf(disk: DiskModel, { by, partition }: DeviceSelector): boolean {
  if (by.kind === 'partitionLabel') return disk.partitions.some(({ label }) => label === by.label);
  if (partition !== undefined) return sameIdentity(by, disk.device.by);
  // /dev/sdb1, /dev/disk/by-path/pci-0000:00:04.0-part1
  const whole = pathOf(disk.device.by);
  const part = pathOf(by);
  if (whole === undefined || part === undefined || !part.startsWith(whole)) return false;
  return /^(?:p|-part)?\d+$/.test(part.slice(whole.length));
}

function sameIdentity(a: DeviceIdentity, b: DeviceIdentity): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || (pathOf(a) !== undefined && pathOf(a) === pathOf(b));
}

function pathOf(by: DeviceIdentity): string | undefined {
  if (by.kind === 'path') return by.path;
  return by.kind === 'id' ? `/dev/disk/by-id/${by.id}` : undefined;
}
