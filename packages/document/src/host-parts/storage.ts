import type { Finding, PathSegment } from '../diagnostics/index.ts';
import { milliseconds } from '../fields/convert-values.ts';
import { FSTAB } from '../ownership/paths.ts';
import { parseSize } from '../text/units.ts';
import { checkMounts, mountPoint } from './mount-checks.ts';
import { claimsOn, hostPart } from './part.ts';
import { type AbsentNameModel, presentOf } from './paths-of-host.ts';
import type { DeviceSection } from './storage-device.ts';
import type { DeviceSelector, MountModel, PartitionModel, PartitionType, StorageModel } from './storage-model.ts';
import {
  LABEL_LIMIT,
  type MountSection,
  SOURCE_TYPES,
  type StorageSection,
  storage as schema,
} from './storage-schema.ts';

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

type Disk = NonNullable<StorageSection['disks']>[number];
type Filesystem = NonNullable<StorageSection['filesystems']>[number];

/** Mistakes across the fields of `host.storage`. */
function checkStorage({ disks = [], filesystems = [], mounts = [] }: StorageSection): Finding[] {
  return [
    ...disks.flatMap(checkDisk),
    ...twice('disks', disks),
    ...filesystems.flatMap(checkFilesystem),
    ...twice('filesystems', filesystems),
    ...checkMounts(mounts),
  ];
}

function checkDisk(disk: Disk, index: number): Finding[] {
  const place = ['disks', index];
  const findings: Finding[] = [];
  if ('partition' in disk.device && disk.device.partition !== undefined) {
    const message = 'a partition cannot contain partitions';
    findings.push({ path: [...place, 'device', 'partition'], message, hint: 'name the whole disk' });
  }
  const rests = disk.partitions.filter(({ size }) => size === 'Rest').length;
  if (rests > 1) {
    findings.push({
      path: [...place, 'partitions'],
      message: `${rests} partitions have the size "Rest"`,
      hint: 'one can',
    });
  }
  const percent = disk.partitions.reduce(
    (sum, { size }) => sum + (size.endsWith('%') ? Number.parseInt(size, 10) : 0),
    0,
  );
  if (percent > 100) {
    findings.push({ path: [...place, 'partitions'], message: `the percentages add up to ${percent} %` });
  }
  findings.push(...checkGrowth(disk, place));
  return disk.table === 'mbr' ? [...findings, ...checkMbr(disk, place)] : findings;
}

/** Nothing is moved: only the last partition can have room after it. */
function checkGrowth({ partitions }: Disk, place: readonly PathSegment[]): Finding[] {
  const percentage = partitions.findIndex(({ size }) => size.endsWith('%'));
  return partitions.flatMap(({ grow, size }, index): Finding[] => {
    if (grow !== true) return [];
    const path = [...place, 'partitions', index, 'grow'];
    if (index < partitions.length - 1)
      return [{ path, message: 'only the last partition of a disk can grow', hint: 'put it after the others' }];
    if (size !== 'Rest')
      return [{ path, message: 'a partition of a fixed size does not grow', hint: 'use size: Rest' }];
    const message = 'a percentage of a disk that grows would change with it';
    return percentage < 0 ? [] : [{ path: [...place, 'partitions', percentage, 'size'], message, hint: 'give a size' }];
  });
}

/** What MBR cannot say. */
function checkMbr(disk: Disk, place: readonly PathSegment[]): Finding[] {
  const findings: Finding[] = [];
  const hint = 'use table: gpt';
  if (disk.partitions.length > 4) {
    findings.push({ path: [...place, 'partitions'], message: 'an mbr table has at most four partitions', hint });
  }
  disk.partitions.forEach(({ label, type }, index) => {
    const partition = [...place, 'partitions', index];
    if (label !== undefined) {
      findings.push({ path: [...partition, 'label'], message: 'an mbr table has no labels', hint });
    }
    if (type?.includes('-')) {
      findings.push({ path: [...partition, 'type'], message: 'an mbr table has no type GUIDs', hint });
    }
  });
  return findings;
}

function checkFilesystem({ type, label, grow }: Filesystem, index: number): Finding[] {
  if (grow === true && (type === 'vfat' || type === 'swap'))
    return [{ path: ['filesystems', index, 'grow'], message: `${type} does not grow`, hint: 'ext4, xfs and btrfs do' }];
  if (label === undefined || label.length <= LABEL_LIMIT[type]) return [];
  const message = `a label of ${type} has at most ${LABEL_LIMIT[type]} characters`;
  return [{ path: ['filesystems', index, 'label'], message }];
}

function twice(list: 'disks' | 'filesystems', entries: readonly { readonly device: DeviceSection }[]): Finding[] {
  const seen = new Map<string, number>();
  return entries.flatMap(({ device }, index) => {
    const { timeout: _timeout, ...identity } = device;
    const key = JSON.stringify(identity, Object.keys(identity).sort());
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, index);
      return [];
    }
    const path = [list, index, 'device'];
    return [
      {
        code: 'Duplicate',
        path,
        message: 'the same device as',
        other: [list, first],
        hint: 'keep one of them',
      },
    ];
  });
}
