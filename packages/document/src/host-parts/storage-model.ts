export interface StorageModel {
  readonly disks: readonly DiskModel[];
  readonly filesystems: readonly FilesystemModel[];
  readonly mounts: readonly MountModel[];
}

/** How a block device is found. `partition` names one of its partitions by number. */
export interface DeviceSelector {
  readonly by: DeviceIdentity;
  readonly partition: number | undefined;
  /** How long to wait for it to appear. */
  readonly waitMs: number;
}

export type DeviceIdentity =
  | { readonly kind: 'path'; readonly path: string }
  /** A name below /dev/disk/by-id. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'serial'; readonly serial: string }
  /** Label of a file system. */
  | { readonly kind: 'label'; readonly label: string }
  /** Label of a GPT partition. */
  | { readonly kind: 'partitionLabel'; readonly label: string }
  /** The nth local instance store (NVMe) of the cloud machine, from 0. */
  | { readonly kind: 'instanceStore'; readonly index: number }
  /** Azure's temporary (resource) disk. */
  | { readonly kind: 'azureResource' };

export interface DiskModel {
  readonly device: DeviceSelector;
  readonly table: 'gpt' | 'mbr';
  /** True: an existing table or signature may be destroyed. */
  readonly wipe: boolean;
  readonly partitions: readonly PartitionModel[];
}

export interface PartitionModel {
  readonly label: string | undefined;
  readonly size:
    | { readonly kind: 'bytes'; readonly bytes: number }
    | { readonly kind: 'percent'; readonly percent: number }
    | { readonly kind: 'rest' };
  readonly type: PartitionType;
  /** True: it grows to the end of its disk. */
  readonly grow?: true;
}

/** A name, or a GPT type GUID in lower case. */
export type PartitionType = 'linux' | 'swap' | 'lvm' | 'raid' | 'efi' | 'fat32' | 'ntfs' | { readonly guid: string };

export interface FilesystemModel {
  readonly device: DeviceSelector;
  readonly type: 'ext4' | 'xfs' | 'btrfs' | 'vfat' | 'swap';
  readonly label: string | undefined;
  /** Given to mkfs as they are. */
  readonly options: readonly string[];
  /** True: whatever is there may be destroyed. */
  readonly overwrite: boolean;
  /** Types that may be destroyed without `overwrite`. */
  readonly replace: readonly string[];
  /** True: it becomes as large as its device. */
  readonly grow?: true;
}

export type MountModel = DeviceMount | SourceMount;

interface MountPlace {
  /** The mount point; `none` for swap, as fstab(5) has it. */
  readonly path: string;
  readonly options: readonly string[];
  /** Its place in the document; absent: that in this list. */
  readonly at?: number;
}

export interface DeviceMount extends MountPlace {
  readonly device: DeviceSelector;
  /** undefined = as the device says. */
  readonly type: string | undefined;
}

/** A mount of something other than a device, or a swap file. */
export interface SourceMount extends MountPlace {
  readonly type: SourceType;
  /** A directory, a swap file, `server:/path`; `tmpfs` for a tmpfs. */
  readonly source: string;
  /** Of a swap file. */
  readonly sizeBytes?: number;
}

export type SourceType = 'bind' | 'tmpfs' | 'nfs' | 'nfs4' | 'swap';
