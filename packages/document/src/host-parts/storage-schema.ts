import { choice } from '../fields/field.ts';
import { absolutePath, duration, LINUX_PATH } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import { SIZE_PATTERN } from '../text/units.ts';

const waitFor = duration.optional();
const partition = z.int().min(1).max(128).optional();

const deviceShapes = [
  z.strictObject({ path: absolutePath, partition, timeout: waitFor }),
  z.strictObject({ id: z.string().regex(/^[^/\s]+$/, 'a name below /dev/disk/by-id'), partition, timeout: waitFor }),
  z.strictObject({ serial: z.string().min(1), partition, timeout: waitFor }),
  z.strictObject({ label: z.string().min(1).max(255), timeout: waitFor }),
  z.strictObject({ partitionLabel: z.string().min(1).max(36), timeout: waitFor }),
  z.strictObject({ instanceStore: z.int().min(0).max(63), partition, timeout: waitFor }),
  z.strictObject({ azureResource: z.literal(true), partition, timeout: waitFor }),
] as const;

/** A block device. A dotted name is nothing special here: `partition` says which partition is meant. */
export const device = z.union(deviceShapes, {
  error:
    'expected a device: one of {path}, {id}, {serial}, {label}, {partitionLabel}, {instanceStore}, {azureResource: true}',
});

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

const disk = z.strictObject({
  device,
  table: choice({
    gpt: 'GUID partition table.',
    mbr: 'Ends at 2 TiB and four partitions, and has no labels.',
  }).optional(),
  wipe: z.boolean().optional(),
  partitions: z
    .array(
      z.strictObject({
        label: z
          .string()
          // A quote or backslash cannot be written in the script that sfdisk(8) reads.
          .regex(
            /^[\x21\x23-\x5b\x5d-\x7e]{1,36}$/,
            'a partition label is 1 to 36 printable characters without blanks, quotes and backslashes',
          )
          .optional(),
        size: partitionSize,
        type: partitionType.optional(),
        grow: z.boolean().optional(),
      }),
    )
    .min(1, 'a disk without partitions'),
});

const filesystem = z.strictObject({
  device,
  type: choice({
    ext4: 'mke2fs(8).',
    xfs: 'mkfs.xfs(8).',
    btrfs: 'mkfs.btrfs(8).',
    vfat: 'mkfs.fat(8).',
    swap: 'mkswap(8).',
  }),
  label: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'not a label')
    .optional(),
  options: z.array(z.string().min(1)).optional(),
  grow: z.boolean().optional(),
  overwrite: z.boolean().optional(),
  replace: z.array(z.string().regex(/^[A-Za-z0-9_]+$/, 'not the name of a file system, as blkid prints it')).optional(),
});

const mount = z.strictObject({
  device: device.optional(),
  source: source.optional(),
  path: absolutePath.optional(),
  type: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a file system')
    .optional(),
  options: z.array(z.string().regex(/^[^\s,]+$/, 'one option an entry')).optional(),
  size: size.optional(),
  absent: z.boolean().optional(),
});

export const storage = z.strictObject({
  disks: z.array(disk).optional(),
  filesystems: z.array(filesystem).optional(),
  mounts: z.array(mount).optional(),
});

export type StorageSection = z.infer<typeof storage>;
export type MountSection = z.infer<typeof mount>;
export type DeviceSection = z.infer<typeof device>;
