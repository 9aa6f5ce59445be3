import {
  all,
  any,
  atMostOne,
  exclusive,
  given,
  has,
  is,
  must,
  not,
  text,
  textWithout,
  VARIABLE,
  when,
  without,
} from '../fields/conditions.ts';
import { milliseconds } from '../fields/convert-values.ts';
import { FSTAB } from '../ownership/paths.ts';
import { parseSize } from '../text/units.ts';
import { mountPoint, SOURCE_TYPES } from './mount-checks.ts';
import { claimsOn, hostPart } from './part.ts';
import { ABSENT_FIELD, type AbsentNameModel, presentOf } from './paths-of-host.ts';
import { checkStorage, LABEL_LIMIT } from './storage-checks.ts';
import type { DeviceSelector, MountModel, PartitionModel, PartitionType, StorageModel } from './storage-model.ts';
import { type DeviceSection, device, type MountSection, storage as schema } from './storage-schema.ts';

const DEFAULT_DEVICE_WAIT_MS = 60_000;
const MEBIBYTE = 2 ** 20;

export const storage = hostPart({
  description:
    'Disks, file systems and mounts. A device with data is never formatted unless the document explicitly allows it.',
  absent: 'storage stays as it is',
  changes: 'partition tables, file systems, mounts and `/etc/fstab`',
  example: { mounts: [{ device: { label: 'data' }, path: '/srv/data' }] },
  fields: {
    disks: {
      description: 'Disks to partition.',
      default: [],
      example: [{ device: { path: '/dev/nvme1n1' }, partitions: [{ label: 'etcd', size: 'Rest' }] }],
    },
    'disks[].device': {
      description: 'The disk. A whole disk, so without partition.',
      example: { path: '/dev/nvme1n1' },
    },
    Device: { description: 'A block device, named in one of several ways.', example: { path: '/dev/nvme1n1' } },
    'Device.path': { description: 'The path of the device.', example: '/dev/nvme1n1' },
    'Device.id': {
      description: 'The name of the device below /dev/disk/by-id.',
      example: 'nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0',
    },
    'Device.serial': { description: 'The serial number of the disk.', example: 'vol0123456789abcdef0' },
    'Device.label': { description: 'The label of the file system on the device.', example: 'data' },
    'Device.partitionLabel': { description: 'The label of the partition (GPT).', example: 'etcd' },
    'Device.instanceStore': {
      description:
        'The number of a local disk of the cloud machine, from 0: instance store of AWS, local disks of Azure, local SSD of Google Cloud.',
      example: 0,
    },
    'Device.azureResource': { description: 'The resource disk of an Azure machine.', example: true },
    'Device.partition': { description: 'The number of a partition of the disk.', absent: 'the whole disk', example: 1 },
    'Device.timeout': { description: 'How long to wait for the device to appear.', default: '60s', example: '5m' },
    'disks[].table': {
      description: 'The kind of partition table. mbr ends at 2 TiB and four partitions, and has no labels.',
      default: 'gpt',
      example: 'gpt',
    },
    'disks[].wipe': {
      description:
        'Whether a partition table or signature that differs from the document may be destroyed. With false, such a disk is an error. A matching table is always kept.',
      default: false,
      example: true,
    },
    'disks[].partitions': {
      description: 'The partitions of the disk in their order.',
      example: [
        { label: 'etcd', size: '20Gi' },
        { label: 'data', size: 'Rest' },
      ],
    },
    'disks[].partitions[].label': {
      description: 'The label of the partition. An mbr table has none.',
      absent: 'no label',
      example: 'etcd',
    },
    'disks[].partitions[].size': {
      description: 'The size with its unit, a percentage of the disk, or Rest for the remaining space.',
      example: '20Gi',
    },
    'disks[].partitions[].type': {
      description: 'What the partition is for, by name or as a GPT type GUID.',
      default: 'linux',
      example: 'swap',
    },
    filesystems: {
      description: 'File systems to create. An existing one with the same type and label is kept.',
      default: [],
      example: [{ device: { partitionLabel: 'etcd' }, type: 'ext4', label: 'etcd' }],
    },
    'filesystems[].device': {
      description: 'The device that the file system is created on.',
      example: { partitionLabel: 'etcd' },
    },
    'filesystems[].type': { description: 'The type of the file system.', example: 'ext4' },
    'filesystems[].label': {
      description:
        'The label. The longest one depends on the type: ext4 16 characters, xfs 12, btrfs 255, vfat 11, swap 15.',
      absent: 'no label',
      example: 'etcd',
    },
    'filesystems[].options': {
      description: 'Arguments that are passed to mkfs as they are.',
      default: [],
      example: ['-m', '0'],
    },
    'disks[].partitions[].grow': {
      description:
        'Whether the partition grows to the end of a disk that became larger. Only for the last partition, with the size Rest, on a disk without percentages. Its data is kept.',
      default: false,
      example: true,
    },
    'filesystems[].grow': {
      description:
        'Whether an existing file system grows to the size of its device. Its data is kept, and it stays mounted. Only ext4, xfs and btrfs can.',
      default: false,
      example: true,
    },
    'filesystems[].overwrite': {
      description: 'Whether the device is formatted regardless of its contents. Its data is lost.',
      default: false,
      example: true,
    },
    'filesystems[].replace': {
      description: 'Types of file systems, as blkid names them, that may be formatted over without overwrite.',
      default: [],
      example: ['ntfs'],
    },
    mounts: {
      description:
        'File systems, directories, swap areas and swap files that are mounted now and at every boot. The run fails when one cannot be mounted.',
      default: [],
      example: [{ device: { label: 'etcd' }, path: '/var/lib/etcd-disk' }],
    },
    'mounts[].device': {
      description: 'The device to mount.',
      absent: 'source, or type tmpfs, says what is mounted',
      example: { label: 'etcd' },
    },
    'mounts[].source': {
      description:
        'Instead of a device: the directory of a bind mount, the path of a swap file, or server:/path of NFS. machineadm creates a missing directory or swap file.',
      absent: 'a device or a tmpfs is mounted',
      example: '/var/lib/data-disk/containerd',
    },
    'mounts[].size': {
      description:
        'The size of the swap file that source names, with its unit. Rounded up to MiB. Required for a swap file.',
      absent: 'only a swap file has a size',
      example: '2Gi',
    },
    'mounts[].path': {
      description: 'The mount point, which is created if needed. Required, except for type swap, which has none.',
      absent: 'swap has no mount point',
      example: '/var/lib/etcd-disk',
    },
    'mounts[].type': {
      description: 'The type of the file system, or swap. Required without a device: bind, tmpfs, nfs, nfs4 or swap.',
      absent: 'the type that is found on the device',
      example: 'ext4',
    },
    'mounts[].absent': {
      ...ABSENT_FIELD,
      description:
        "Whether the device or source is unmounted from the path, and machineadm's entry in /etc/fstab is removed. The data is kept. A swap file is turned off and deleted.",
    },
    'mounts[].options': { description: 'Mount options, one in each entry.', default: [], example: ['noatime'] },
  },
  definitions: { Device: device },
  linuxOnly: 'disks of a Windows machine belong into its image',
  entryKeys: { disks: ['device'], filesystems: ['device'], mounts: ['path', 'device', 'source'] },
  schema,
  conditions: {
    'disks[]': () => [
      without('device.partition'),
      must('partitions', atMostOne(is('size', 'Rest'))),
      when(
        is('table', 'mbr'),
        all(
          must('partitions', { type: 'array', maxItems: 4 }),
          without('partitions[].label'),
          must('partitions[].type', textWithout(/-/)),
        ),
      ),
    ],
    'disks[].partitions[]': () => [when(is('grow', true), is('size', 'Rest'))],
    'filesystems[]': () => [
      when(is('grow', true), must('type', not({ enum: ['vfat', 'swap'] }))),
      // btrfs takes all that the form of a label takes.
      ...Object.entries(LABEL_LIMIT)
        .filter(([type]) => type !== 'btrfs')
        .map(([type, maxLength]) =>
          when(is('type', type), must('label', any(VARIABLE, { type: 'string', maxLength }))),
        ),
    ],
    'mounts[]': () => [
      when(is('type', 'swap'), without('path'), given('path', not({ const: '/' }))),
      exclusive('device', 'source'),
      any(has('device'), has('source'), given('type', any(VARIABLE, { const: 'tmpfs' }))),
      when(given('type', { enum: ['bind', 'nfs', 'nfs4'] }), has('source')),
      when(is('type', 'tmpfs'), without('device', 'source')),
      when(has('source'), given('type', any(VARIABLE, { enum: SOURCE_TYPES.filter((type) => type !== 'tmpfs') }))),
      when(given('type', { enum: ['bind', 'swap'] }), must('source', any(VARIABLE, text(/^\//)))),
      when(given('type', { enum: ['nfs', 'nfs4'] }), must('source', any(VARIABLE, text(/^[^/]/)))),
      when(
        all(is('type', 'swap'), has('source'), not(is('absent', true))),
        has('size'),
        when(not(given('type', VARIABLE)), without('size')),
      ),
      when(is('absent', true), all(without('options', 'size'), when(has('device'), without('type')))),
    ],
  },
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
