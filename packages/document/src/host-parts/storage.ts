import { milliseconds } from '../fields/convert-values.ts';
import { FSTAB } from '../ownership/paths.ts';
import { parseSize } from '../text/units.ts';
import { mountPoint } from './mount-checks.ts';
import { claimsOn, hostPart } from './part.ts';
import { type AbsentNameModel, presentOf } from './paths-of-host.ts';
import { checkStorage } from './storage-checks.ts';
import type { DeviceSection } from './storage-device.ts';
import type { DeviceSelector, MountModel, PartitionModel, PartitionType, StorageModel } from './storage-model.ts';
import { type MountSection, SOURCE_TYPES, storage as schema } from './storage-schema.ts';

const DEFAULT_DEVICE_WAIT_MS = 60_000;
const MEBIBYTE = 2 ** 20;

export const storage = hostPart({
  description:
    'Disks, file systems and mounts. A device with data is never formatted unless the document explicitly allows it.',
  absent: 'storage stays as it is',
  changes: 'partition tables, file systems, mounts and `/etc/fstab`',
  example: { mounts: [{ device: { label: 'data' }, path: '/srv/data' }] },
  linuxOnly: 'disks of a Windows machine belong into its image',
  entryKeys: { disks: ['device'], filesystems: ['device'], mounts: ['path', 'device', 'source'] },
  schema,
  toModel: (section): StorageModel => ({
    disks: (section?.disks ?? []).map((disk) => ({
      device: toDevice(disk.device),
      table: disk.table ?? 'gpt',
      wipe: disk.wipe ?? false,
      partitions: disk.partitions.map(({ label, size, type, grow }) => ({
        label,
        size: toPartitionSize(size),
        type: toPartitionType(type ?? 'linux'),
        ...(grow === true ? { grow } : {}),
      })),
    })),
    filesystems: (section?.filesystems ?? []).map((filesystem) => ({
      device: toDevice(filesystem.device),
      type: filesystem.type,
      label: filesystem.label,
      options: filesystem.options ?? [],
      overwrite: filesystem.overwrite ?? false,
      replace: filesystem.replace ?? [],
      ...(filesystem.grow === true ? { grow: filesystem.grow } : {}),
    })),
    mounts: presentOf(section?.mounts ?? []).map(({ entry, place }) => ({ ...place, ...toMount(entry) })),
  }),
  removesNames: ({ mounts = [] }) =>
    mounts.flatMap((mount, index): AbsentNameModel[] => {
      if (mount.absent !== true) return [];
      const place = ['storage', 'mounts', index];
      const wanted = toMount(mount);
      if (wanted.path !== 'none')
        return [{ kind: 'mount', name: wanted.path, mount: wanted, field: [...place, 'path'] }];
      return 'device' in wanted ? [] : [{ kind: 'swap-file', name: wanted.source, field: [...place, 'source'] }];
    }),
  claims: ({ mounts }) => [
    ...(mounts.length === 0 ? [] : claimsOn('mounts', ['mounts'], 'lines', FSTAB)),
    ...mounts.flatMap((mount, index) => {
      const { path, at = index } = mount;
      if (path !== 'none') return claimsOn('mounts', ['mounts', at, 'path'], 'mount', path);
      return 'source' in mount ? claimsOn('mounts', ['mounts', at, 'source'], 'file', mount.source) : [];
    }),
  ],
  check: checkStorage,
});

function toMount({ device, source, type, path, options = [], size }: MountSection): MountModel {
  const common = { path: type === 'swap' ? 'none' : mountPoint(path ?? ''), options };
  if (device !== undefined) return { ...common, device: toDevice(device), type };
  return {
    ...common,
    // The checks have refused every other type.
    type: SOURCE_TYPES.find((one) => one === type) ?? 'bind',
    source: source === undefined ? 'tmpfs' : mountPoint(source),
    ...(size === undefined ? {} : { sizeBytes: wholeMebibytes(parseSize(size) ?? 0) }),
  };
}

function wholeMebibytes(bytes: number): number {
  return Math.ceil(bytes / MEBIBYTE) * MEBIBYTE;
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
