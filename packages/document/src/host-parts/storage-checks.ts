import type { Finding, PathSegment } from '../diagnostics/index.ts';
import { checkMounts } from './mount-checks.ts';
import type { DeviceSection } from './storage-device.ts';
import { LABEL_LIMIT, type StorageSection } from './storage-schema.ts';

type Disk = NonNullable<StorageSection['disks']>[number];
type Filesystem = NonNullable<StorageSection['filesystems']>[number];

/** Mistakes across the fields of `host.storage`. */
export function checkStorage({ disks = [], filesystems = [], mounts = [] }: StorageSection): Finding[] {
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
