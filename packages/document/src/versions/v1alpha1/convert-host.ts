import type { DeviceSelector, PartitionModel, PartitionType, StorageModel } from '../../model.ts';
import { parseSize } from '../../units.ts';
import { milliseconds } from './convert-values.ts';
import type { DeviceSection, StorageSection } from './storage.ts';

/** Parts of the host section that are sections of their own. */

const DEFAULT_DEVICE_WAIT_MS = 60_000;

export function toStorage(section: StorageSection | undefined): StorageModel {
  return {
    disks: (section?.disks ?? []).map((disk) => ({
      device: toDevice(disk.device),
      table: disk.table ?? 'gpt',
      wipe: disk.wipe ?? false,
      partitions: disk.partitions.map(({ label, size, type }) => ({
        label,
        size: toPartitionSize(size),
        type: toPartitionType(type ?? 'linux'),
      })),
    })),
    filesystems: (section?.filesystems ?? []).map((filesystem) => ({
      device: toDevice(filesystem.device),
      type: filesystem.type,
      label: filesystem.label,
      options: filesystem.options ?? [],
      overwrite: filesystem.overwrite ?? false,
      replace: filesystem.replace ?? [],
    })),
    mounts: (section?.mounts ?? []).map((mount) => ({
      device: toDevice(mount.device),
      path: mountPoint(mount.path),
      type: mount.type,
      options: mount.options ?? [],
    })),
  };
}

/** Without the slash at its end, as the kernel tells it; swap has none. */
function mountPoint(path: string | undefined): string {
  return path === undefined ? 'none' : path.replace(/(.)\/$/, '$1');
}

function toDevice(section: DeviceSection): DeviceSelector {
  return {
    by: toIdentity(section),
    partition: 'partition' in section ? section.partition : undefined,
    waitMs: milliseconds(section.timeout) ?? DEFAULT_DEVICE_WAIT_MS,
  };
}

function toIdentity(section: DeviceSection): DeviceSelector['by'] {
  if ('path' in section) return { kind: 'path', path: section.path };
  if ('id' in section) return { kind: 'id', id: section.id };
  if ('serial' in section) return { kind: 'serial', serial: section.serial };
  if ('label' in section) return { kind: 'label', label: section.label };
  if ('partitionLabel' in section) return { kind: 'partitionLabel', label: section.partitionLabel };
  if ('instanceStore' in section) return { kind: 'instanceStore', index: section.instanceStore };
  return { kind: 'azureResource' };
}

function toPartitionSize(size: string): PartitionModel['size'] {
  if (size === 'Rest') return { kind: 'rest' };
  if (size.endsWith('%')) return { kind: 'percent', percent: Number(size.slice(0, -1)) };
  return { kind: 'bytes', bytes: parseSize(size) ?? 0 };
}

const NAMED_TYPES = ['linux', 'swap', 'lvm', 'raid', 'efi', 'fat32', 'ntfs'] as const;

function toPartitionType(type: string): PartitionType {
  return NAMED_TYPES.find((name) => name === type) ?? { guid: type.toLowerCase() };
}
