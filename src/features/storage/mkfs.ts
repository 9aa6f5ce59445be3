import type { FilesystemModel } from '@machineadm/document/model/index.ts';

type FilesystemType = FilesystemModel['type'];

/** How each kind is made: mke2fs(8), mkfs.xfs(8), mkfs.btrfs(8), mkfs.fat(8), mkswap(8). */
const MAKERS: Readonly<
  Record<
    FilesystemType,
    {
      readonly program: string;
      /** What a run without a terminal needs. */
      readonly quiet: readonly string[];
      readonly uuid: (uuid: string) => readonly string[];
      readonly label: string;
    }
  >
> = {
  ext4: { program: 'mkfs.ext4', quiet: ['-q'], uuid: (uuid) => ['-U', uuid], label: '-L' },
  xfs: { program: 'mkfs.xfs', quiet: ['-q'], uuid: (uuid) => ['-m', `uuid=${uuid}`], label: '-L' },
  btrfs: { program: 'mkfs.btrfs', quiet: ['-q'], uuid: (uuid) => ['-U', uuid], label: '-L' },
  // -I: also on a whole disk, as it was asked for. The volume id has 32 bits.
  vfat: { program: 'mkfs.vfat', quiet: ['-I'], uuid: (uuid) => ['-i', uuid.replace('-', '')], label: '-n' },
  swap: { program: 'mkswap', quiet: [], uuid: (uuid) => ['-U', uuid], label: '-L' },
};

/** The program that makes a file system of this type. */
export function mkfsProgram(type: FilesystemType): string {
  return MAKERS[type].program;
}

/**
 * A new identity for a file system of this type, as blkid(8) will print it, in lower case: chosen before mkfs starts, so
 * that what a killed mkfs left is known for what it is. undefined when the document's own options choose it.
 * @param random a random UUID
 */
export function newFilesystemId({ type, options }: FilesystemModel, random: string): string | undefined {
  if (choosesId(type, options)) return undefined;
  return type === 'vfat' ? `${random.slice(0, 4)}-${random.slice(4, 8)}` : random;
}

/** Arguments of mkfs: quiet, identity, label, the document's options as they are, the device. */
export function mkfsArguments(
  { type, label, options }: FilesystemModel,
  id: string | undefined,
  device: string,
): readonly string[] {
  const maker = MAKERS[type];
  return [
    ...maker.quiet,
    ...(id === undefined ? [] : maker.uuid(id)),
    ...(label === undefined ? [] : [maker.label, label]),
    ...options,
    device,
  ];
}

/** How it gets its label afterwards: e2label(8), xfs_admin(8), btrfs-filesystem(8), fatlabel(8), swaplabel(8). */
export function relabelCommand({ type, label }: FilesystemModel, device: string): string {
  const wanted = label ?? '';
  switch (type) {
    case 'ext4':
      return `e2label ${device} ${wanted}`;
    case 'xfs':
      return `xfs_admin -L ${wanted} ${device}`;
    case 'btrfs':
      return `btrfs filesystem label ${device} ${wanted}`;
    case 'vfat':
      return `fatlabel ${device} ${wanted}`;
    case 'swap':
      return `swaplabel -L ${wanted} ${device}`;
  }
}

function choosesId(type: FilesystemType, options: readonly string[]): boolean {
  return options.some((option) => {
    if (type === 'xfs') return /(?:^|[,=]|^-m)uuid=/.test(option);
    return option.startsWith(type === 'vfat' ? '-i' : '-U') || option.startsWith('--uuid');
  });
}

export function wantedWords({ type, label }: FilesystemModel): string {
  return `${type}${label === undefined ? '' : ` with the label "${label}"`}`;
}
