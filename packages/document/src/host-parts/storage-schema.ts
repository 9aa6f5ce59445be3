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
import { choice, field, object } from '../fields/field.ts';
import { absolutePath, LINUX_PATH } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import { SIZE_PATTERN } from '../text/units.ts';
import { absentField } from './paths-of-host.ts';
import { device } from './storage-device.ts';
import type { SourceType } from './storage-model.ts';

/** A directory or file, or what a server exports: nfs(5) writes an IPv6 address in brackets. */
const source = z
  .string()
  .regex(
    new RegExp(`^(?:(?:[A-Za-z0-9][A-Za-z0-9._-]*|\\[[0-9A-Fa-f:.]+\\]):)?${LINUX_PATH}$`),
    'not a source: write an absolute path, or "server:/path" of NFS',
  );

const size = z.string({ error: 'expected a size in quotes' }).regex(SIZE_PATTERN, 'not a size: write "2Gi"');

const partitionSize = z
  .string({ error: 'expected a size in quotes' })
  .regex(
    new RegExp(`${SIZE_PATTERN.source}|^(?:Rest|(?:100|[1-9][0-9]?)%)$`),
    'not a size: write "20Gi", "50%" or "Rest"',
  );

const partitionType = z.union(
  [
    choice({
      linux: 'A file system of Linux.',
      swap: 'Swap.',
      lvm: 'A physical volume of LVM.',
      raid: 'A part of a Linux software RAID.',
      efi: 'The EFI system partition.',
      fat32: 'FAT32.',
      ntfs: 'NTFS.',
    }),
    z.string().regex(/^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/),
  ],
  { error: 'expected linux, swap, lvm, raid, efi, fat32, ntfs or a GPT type GUID' },
);

const disk = object(
  {
    device: field(device, 'The disk. A whole disk, so without partition.', { example: { path: '/dev/nvme1n1' } }),
    table: field(
      choice({
        gpt: 'GUID partition table.',
        mbr: 'Ends at 2 TiB and four partitions, and has no labels.',
      }),
      'The kind of partition table. mbr ends at 2 TiB and four partitions, and has no labels.',
      { default: 'gpt', example: 'gpt' },
    ),
    wipe: field(
      z.boolean(),
      'Whether a partition table or signature that differs from the document may be destroyed. With false, such a disk is an error. A matching table is always kept.',
      { default: false, example: true },
    ),
    partitions: field(
      z
        .array(
          object(
            {
              label: field(
                z
                  .string()
                  // A quote or backslash cannot be written in the script that sfdisk(8) reads.
                  .regex(
                    /^[\x21\x23-\x5b\x5d-\x7e]{1,36}$/,
                    'a partition label is 1 to 36 printable characters without blanks, quotes and backslashes',
                  ),
                'The label of the partition. An mbr table has none.',
                { absent: 'no label', example: 'etcd' },
              ),
              size: field(
                partitionSize,
                'The size with its unit, a percentage of the disk, or Rest for the remaining space.',
                { example: '20Gi' },
              ),
              type: field(partitionType, 'What the partition is for, by name or as a GPT type GUID.', {
                default: 'linux',
                example: 'swap',
              }),
              grow: field(
                z.boolean(),
                'Whether the partition grows to the end of a disk that became larger. Only for the last partition, with the size Rest, on a disk without percentages. Its data is kept.',
                { default: false, example: true },
              ),
            },
            () => [when(is('grow', true), is('size', 'Rest'))],
          ),
        )
        .min(1, 'a disk without partitions'),
      'The partitions of the disk in their order.',
      {
        example: [
          { label: 'etcd', size: '20Gi' },
          { label: 'data', size: 'Rest' },
        ],
      },
    ),
  },
  () => [
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
);

/** mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.fat(8), mkswap(8): what is longer is cut off or refused. */
export const LABEL_LIMIT = { ext4: 16, xfs: 12, btrfs: 255, vfat: 11, swap: 15 };

const filesystem = object(
  {
    device: field(device, 'The device that the file system is created on.', { example: { partitionLabel: 'etcd' } }),
    type: field(
      choice({
        ext4: 'mke2fs(8).',
        xfs: 'mkfs.xfs(8).',
        btrfs: 'mkfs.btrfs(8).',
        vfat: 'mkfs.fat(8).',
        swap: 'mkswap(8).',
      }),
      'The type of the file system.',
      { example: 'ext4' },
    ),
    label: field(
      z.string().regex(/^[\x21-\x7e]{1,255}$/, 'not a label'),
      'The label. The longest one depends on the type: ext4 16 characters, xfs 12, btrfs 255, vfat 11, swap 15.',
      { absent: 'no label', example: 'etcd' },
    ),
    options: field(z.array(z.string().min(1)), 'Arguments that are passed to mkfs as they are.', {
      default: [],
      example: ['-m', '0'],
    }),
    grow: field(
      z.boolean(),
      'Whether an existing file system grows to the size of its device. Its data is kept, and it stays mounted. Only ext4, xfs and btrfs can.',
      { default: false, example: true },
    ),
    overwrite: field(z.boolean(), 'Whether the device is formatted regardless of its contents. Its data is lost.', {
      default: false,
      example: true,
    }),
    replace: field(
      z.array(z.string().regex(/^[A-Za-z0-9_]+$/, 'not the name of a file system, as blkid prints it')),
      'Types of file systems, as blkid names them, that may be formatted over without overwrite.',
      { default: [], example: ['ntfs'] },
    ),
  },
  () => [
    when(is('grow', true), must('type', not({ enum: ['vfat', 'swap'] }))),
    // btrfs takes all that the form of a label takes.
    ...Object.entries(LABEL_LIMIT)
      .filter(([type]) => type !== 'btrfs')
      .map(([type, maxLength]) => when(is('type', type), must('label', any(VARIABLE, { type: 'string', maxLength })))),
  ],
);

/** The types of mounts without a device. */
export const SOURCE_TYPES: readonly SourceType[] = ['bind', 'tmpfs', 'nfs', 'nfs4', 'swap'];

const mount = object(
  {
    device: field(device, 'The device to mount.', {
      absent: 'source, or type tmpfs, says what is mounted',
      example: { label: 'etcd' },
    }),
    source: field(
      source,
      'Instead of a device: the directory of a bind mount, the path of a swap file, or server:/path of NFS. machineadm creates a missing directory or swap file.',
      { absent: 'a device or a tmpfs is mounted', example: '/var/lib/data-disk/containerd' },
    ),
    path: field(
      absolutePath,
      'The mount point, which is created if needed. Required, except for type swap, which has none.',
      { absent: 'swap has no mount point', example: '/var/lib/etcd-disk' },
    ),
    type: field(
      z.string().regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a file system'),
      'The type of the file system, or swap. Required without a device: bind, tmpfs, nfs, nfs4 or swap.',
      { absent: 'the type that is found on the device', example: 'ext4' },
    ),
    options: field(z.array(z.string().regex(/^[^\s,]+$/, 'one option an entry')), 'Mount options, one in each entry.', {
      default: [],
      example: ['noatime'],
    }),
    size: field(
      size,
      'The size of the swap file that source names, with its unit. Rounded up to MiB. Required for a swap file.',
      { absent: 'only a swap file has a size', example: '2Gi' },
    ),
    absent: absentField(
      "Whether the device or source is unmounted from the path, and machineadm's entry in /etc/fstab is removed. The data is kept. A swap file is turned off and deleted.",
    ),
  },
  () => [
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
);

export const storage = object({
  disks: field(z.array(disk), 'Disks to partition.', {
    default: [],
    example: [{ device: { path: '/dev/nvme1n1' }, partitions: [{ label: 'etcd', size: 'Rest' }] }],
  }),
  filesystems: field(
    z.array(filesystem),
    'File systems to create. An existing one with the same type and label is kept.',
    { default: [], example: [{ device: { partitionLabel: 'etcd' }, type: 'ext4', label: 'etcd' }] },
  ),
  mounts: field(
    z.array(mount),
    'File systems, directories, swap areas and swap files that are mounted now and at every boot. The run fails when one cannot be mounted.',
    { default: [], example: [{ device: { label: 'etcd' }, path: '/var/lib/etcd-disk' }] },
  ),
});

export type StorageSection = z.infer<typeof storage>;
export type MountSection = z.infer<typeof mount>;
