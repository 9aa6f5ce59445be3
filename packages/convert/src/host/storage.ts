import type { DeviceSection } from '@machineadm/document/host-parts/storage-device.ts';
import type { StorageSection } from '@machineadm/document/host-parts/storage-schema.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { DiskSpec, FilesystemSpec, Spec } from '../spec/spec.ts';
import { convertDevice, type NamedDevice, withPartition } from './devices.ts';
import { convertMounts } from './mounts.ts';

type Disk = NonNullable<StorageSection['disks']>[number];
type Partition = Disk['partitions'][number];
type Filesystem = NonNullable<StorageSection['filesystems']>[number];

/** `host.storage`. Cases that cloudinit/config/cc_disk_setup.py leaves open are decided here and reported. */
export function convertStorage(spec: Spec, conversion: Conversion): StorageSection | undefined {
  const azure = [...spec.disks, ...spec.filesystems].some(({ device }) => device.startsWith('/dev/disk/azure/'));
  const disks = [
    ...spec.disks.flatMap((disk) => convertDisk(disk, azure, conversion) ?? []),
    ...(spec.direct?.disks ?? []),
  ];
  const filesystems = convertFilesystems(spec, azure, conversion);
  const mounts = convertMounts(spec, azure, conversion);
  if (disks.length + filesystems.length + mounts.length === 0) return undefined;
  const some = <T>(list: T[]): T[] | undefined => (list.length === 0 ? undefined : list);
  return { disks: some(disks), filesystems: some(filesystems), mounts: some(mounts) };
}

function convertDisk(disk: DiskSpec, azure: boolean, conversion: Conversion): Disk | undefined {
  const { report } = conversion;
  if (disk.layout === false) {
    report.add('LayoutFalse', disk.at, disk.device);
    return undefined;
  }
  const named = convertDevice(disk.device, disk.at, azure, conversion);
  if (named === undefined) return undefined;
  if (disk.table === undefined) report.add('TableTypeMbr', disk.at, 'write gpt unless an old machine must read it');
  if (disk.overwrite) report.add('DiskOverwrite', disk.at, disk.device);
  else report.add('UsedDiskRefused', disk.at, disk.device);
  const table = disk.table === 'gpt' ? 'gpt' : 'mbr';
  if (disk.table !== undefined && disk.table !== table) {
    report.add('InputInvalid', disk.at, 'expected gpt or mbr as the type of the table');
  }
  return {
    device: named.device,
    table,
    wipe: disk.overwrite ? true : undefined,
    partitions: disk.layout === true ? [{ size: 'Rest' }] : partitionsOf(disk, disk.layout, table, conversion),
  };
}

function partitionsOf(
  disk: DiskSpec,
  layout: Exclude<DiskSpec['layout'], boolean>,
  table: 'gpt' | 'mbr',
  conversion: Conversion,
): Partition[] {
  const { report } = conversion;
  const sum = layout.reduce((total, { percentage }) => total + percentage, 0);
  if (sum > 100) report.add('InputInvalid', disk.at, `the percentages add up to ${sum}`);
  if (sum < 100) report.add('LastPartitionTakesRest', disk.at, `the percentages add up to ${sum}`);
  return layout.map(({ percentage, type }, index) => ({
    size: index === layout.length - 1 ? 'Rest' : `${percentage}%`,
    type: type === undefined ? undefined : partitionType(type, table, disk, conversion),
  }));
}

/** By the API's names and, in user data, by the provider's codes for them. */
const PARTITION_TYPES: Readonly<Record<string, NonNullable<Partition['type']>>> = {
  linux: 'linux',
  83: 'linux',
  linuxswap: 'swap',
  82: 'swap',
  linuxraid: 'raid',
  fd: 'raid',
  lvm: 'lvm',
  '8e': 'lvm',
  fat32: 'fat32',
  '0c': 'fat32',
  c: 'fat32',
  ntfs: 'ntfs',
  '07': 'ntfs',
  7: 'ntfs',
};

function partitionType(
  type: string,
  table: 'gpt' | 'mbr',
  disk: DiskSpec,
  { report }: Conversion,
): NonNullable<Partition['type']> | undefined {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(type)) {
    if (table === 'gpt') return type.toLowerCase();
    report.add('PartitionTypeUnsupported', disk.at, 'a GUID in an mbr table: write tableType: gpt');
    return undefined;
  }
  const known = PARTITION_TYPES[type.toLowerCase()];
  if (known === undefined) {
    const what = /^(?:linuxextended|85)$/i.test(type)
      ? 'LinuxExtended contains other partitions, which the input does not create; in a GPT its code is another type'
      : 'an unknown type';
    report.add('PartitionTypeUnsupported', disk.at, what);
    return undefined;
  }
  // YAML 1.1 reads the provider's 07 as 7, and sgdisk pads it to 7000: plain Linux. sfdisk does not know fd00, 8e00 and
  // 0c00 (cloudinit/config/cc_disk_setup.py).
  if (table === 'gpt' && known !== 'linux' && known !== 'swap') {
    report.add('PartitionTypeCorrected', disk.at, `the type ${known}`);
  }
  return known;
}

const TYPES: readonly Filesystem['type'][] = ['ext4', 'xfs', 'btrfs', 'vfat', 'swap'];

function convertFilesystems(spec: Spec, azure: boolean, conversion: Conversion): Filesystem[] {
  const taken = new Map<string, number>();
  return spec.filesystems.flatMap((filesystem) => {
    const named = convertDevice(filesystem.device, filesystem.at, azure, conversion);
    const type = TYPES.find((known) => known === filesystem.type);
    if (type === undefined) {
      conversion.report.add('FilesystemUnsupported', filesystem.at, `expected one of ${TYPES.join(', ')}`);
    }
    if (named === undefined || type === undefined) return [];
    const { label, overwrite, replace, options } = filesystem;
    return [
      {
        device: deviceOf(filesystem, named, spec, taken, conversion),
        type,
        label: label === undefined || label === '' || label === 'None' ? undefined : label,
        options: options.length === 0 ? undefined : [...options],
        overwrite: overwrite ? true : undefined,
        replace: replace === undefined || replace === '' ? undefined : [replace],
      },
    ];
  });
}

/**
 * Which partition is meant (cloudinit/config/cc_disk_setup.py, mkfs and find_device_node). `any` and `auto` search the
 * device on the machine; with the partitions of the same input, the search ends at the first unused one.
 */
function deviceOf(
  filesystem: FilesystemSpec,
  { device, partition: dotted }: NamedDevice,
  spec: Spec,
  taken: Map<string, number>,
  { report }: Conversion,
): DeviceSection {
  const { at, overwrite } = filesystem;
  const wanted = dotted === undefined ? (filesystem.partition ?? 'any') : String(dotted);
  if (/^\d+$/.test(wanted)) {
    if (!overwrite) report.add('FilesystemNotFormatted', at, `partition ${wanted} of ${filesystem.device}`);
    return withPartition(device, Number(wanted));
  }
  if (wanted === 'none') {
    if (!overwrite) report.add('FilesystemNotFormatted', at, filesystem.device);
    return device;
  }
  if (wanted !== 'any' && wanted !== 'auto') {
    report.add('PartitionChosen', at, `cloud-init does nothing for "${wanted}"; taken for any`);
  }
  const disk = spec.disks.find((one) => one.device === filesystem.device);
  const count = disk === undefined || disk.layout === false ? 0 : disk.layout === true ? 1 : disk.layout.length;
  if (count === 0) {
    report.add('WholeDisk', at, `${filesystem.device}: the input neither names nor creates a partition`);
    return device;
  }
  const number = (taken.get(filesystem.device) ?? 0) + 1;
  taken.set(filesystem.device, number);
  if (count > 1) report.add('PartitionChosen', at, `partition ${number} of the ${count} of ${filesystem.device}`);
  return withPartition(device, number);
}
