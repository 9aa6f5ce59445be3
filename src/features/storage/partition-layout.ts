import type { DiskModel, PartitionModel, PartitionType } from '@machineadm/document/model/index.ts';

/** Everything is aligned to 1 MiB, as util-linux, parted and installers do: it fits every sector and erase block size. */
const MIB = 2 ** 20;
/** MBR counts sectors in 32 bits: 2 TiB of 512-byte sectors. */
const MBR_LIMIT_MIB = 2 ** 21;

export interface PlacedPartition {
  readonly startMib: number;
  readonly sizeMib: number;
  /** GUID in upper case, or MBR id in lower-case hex without leading zero, as `sfdisk --json` writes them. */
  readonly type: string;
  readonly label: string | undefined;
  /** True where the document says `Rest`. */
  readonly rest: boolean;
}

export interface PartitionTable {
  readonly kind: 'gpt' | 'mbr';
  readonly sectorBytes: number;
  /** What the table takes for the size of the disk: it stays when the disk grows. undefined for MBR. */
  readonly usableEndBytes: number | undefined;
  readonly partitions: readonly {
    readonly startBytes: number;
    readonly sizeBytes: number;
    readonly type: string;
    readonly label: string | undefined;
  }[];
}

/** UEFI specification 2.10, 5.3.3, and the Discoverable Partitions list of systemd; MBR ids as sfdisk(8) lists them. */
const TYPES: Readonly<Record<Extract<PartitionType, string>, { readonly gpt: string; readonly mbr: string }>> = {
  linux: { gpt: '0FC63DAF-8483-4772-8E79-3D69D8477DE4', mbr: '83' },
  swap: { gpt: '0657FD6D-A4AB-43C4-84E5-0933C84B4F4F', mbr: '82' },
  lvm: { gpt: 'E6D6D379-F507-44C2-A23C-238F2A3DF928', mbr: '8e' },
  raid: { gpt: 'A19D880F-05FC-4D3B-A006-743F0F84911E', mbr: 'fd' },
  efi: { gpt: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B', mbr: 'ef' },
  fat32: { gpt: 'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7', mbr: 'c' },
  ntfs: { gpt: 'EBD0A0A2-B9E5-4433-87C0-68B6B72699C7', mbr: '7' },
};

/**
 * The place of each partition of the document on a disk of this size. Percentages are of the space that
 * partitions can take; `Rest` is what the others leave, wherever it stands. undefined when they do not fit, or
 * one would be smaller than 1 MiB.
 */
export function placePartitions(disk: DiskModel, sizeBytes: number): readonly PlacedPartition[] | undefined {
  const spaceMib = spaceFor(disk.table, sizeBytes);
  const sizes = disk.partitions.map(({ size }) => {
    if (size.kind === 'bytes') return Math.max(1, Math.floor(size.bytes / MIB));
    return size.kind === 'percent' ? Math.floor((spaceMib * size.percent) / 100) : 0;
  });
  const restMib = spaceMib - sizes.reduce((sum, size) => sum + size, 0);
  const final = disk.partitions.map((partition, index) => (isRest(partition) ? restMib : (sizes[index] ?? 0)));
  if (restMib < 0 || final.some((size) => size < 1)) return undefined;
  let startMib = 1;
  return disk.partitions.map((partition, index) => {
    const sizeMib = final[index] ?? 0;
    const laid = {
      startMib,
      sizeMib,
      type: typeOf(partition.type, disk.table),
      label: partition.label,
      rest: isRest(partition),
    };
    startMib += sizeMib;
    return laid;
  });
}

/** MiB that partitions can take. GPT keeps a copy of the table in the last 33 sectors; the first MiB is left alone. */
export function spaceFor(table: 'gpt' | 'mbr', sizeBytes: number): number {
  const wholeMib = Math.floor(sizeBytes / MIB);
  return Math.max(0, (table === 'gpt' ? wholeMib - 1 : Math.min(wholeMib, MBR_LIMIT_MIB)) - 1);
}

/** Where the last partition of a disk of this size may end, in bytes. */
export function endOfSpace(table: 'gpt' | 'mbr', sizeBytes: number): number {
  return (spaceFor(table, sizeBytes) + 1) * MIB;
}

/**
 * The script of `sfdisk --dump` with this size for one partition, and the rest as it is. The last usable sector is left
 * to sfdisk, as it moves with the second table to the end of the disk (cloud-utils, bin/growpart, resize_sfdisk).
 */
export function grownScript(dump: string, number: number, sizeBytes: number, sectorBytes: number): string {
  const nodes = new RegExp(`^(\\S*?(?:\\D|p)${number} : start=.*?size= *)\\d+`);
  const lines = dump.split('\n').filter((line) => !line.startsWith('last-lba:'));
  return lines.map((line) => line.replace(nodes, `$1${sizeBytes / sectorBytes}`)).join('\n');
}

/**
 * How a table differs from what the document asks, in words; undefined when it is what is asked: same kind, number,
 * types and labels (where one is given), and sizes within 1 % or 4 MiB, because tools align and round differently. What
 * `Rest` became is accepted at any size: a disk may have grown since.
 */
export function tableDifference(disk: DiskModel, sizeBytes: number, found: PartitionTable): string | undefined {
  if (found.kind !== disk.table) return `${found.kind} table instead of ${disk.table}`;
  if (found.partitions.length !== disk.partitions.length) {
    return `${count(found.partitions.length)} where ${disk.partitions.length} are asked for`;
  }
  const laid = placePartitions(disk, Math.min(sizeBytes, found.usableEndBytes ?? sizeBytes));
  if (laid === undefined) return 'a table too small for the partitions that are asked for';
  for (const [index, wanted] of laid.entries()) {
    const there = found.partitions[index];
    if (there === undefined) continue;
    const name = `partition ${index + 1}`;
    if (there.type !== wanted.type) return `${name} is of type ${there.type}, not ${wanted.type}`;
    if (wanted.label !== undefined && there.label !== wanted.label) {
      return `${name} has ${there.label === undefined ? 'no label' : `the label "${there.label}"`}, not "${wanted.label}"`;
    }
    const wantedBytes = wanted.sizeMib * MIB;
    const tolerance = Math.max(4 * MIB, wantedBytes / 100);
    if (!wanted.rest && Math.abs(there.sizeBytes - wantedBytes) > tolerance) {
      return `${name} has ${Math.round(there.sizeBytes / MIB)} MiB, not ${wanted.sizeMib} MiB`;
    }
  }
  return undefined;
}

/** The script that sfdisk(8) reads from standard input. */
export function sfdiskScript(disk: DiskModel, laid: readonly PlacedPartition[]): string {
  const lines = laid.map(({ startMib, sizeMib, type, label }) => {
    const named = label === undefined ? '' : `, name="${label}"`;
    return `start=${startMib}MiB, size=${sizeMib}MiB, type=${type}${named}`;
  });
  return [`label: ${disk.table === 'gpt' ? 'gpt' : 'dos'}`, '', ...lines, ''].join('\n');
}

function typeOf(type: PartitionType, table: 'gpt' | 'mbr'): string {
  return typeof type === 'string' ? TYPES[type][table] : type.guid.toUpperCase();
}

function isRest({ size }: PartitionModel): boolean {
  return size.kind === 'rest';
}

function count(partitions: number): string {
  return partitions === 1 ? '1 partition' : `${partitions} partitions`;
}
