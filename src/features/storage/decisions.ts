/**
 * What is done with a disk or device that has something on it: the tables of docs/storage.md, which the tests read and
 * compare with these functions row by row. Nothing else decides whether data is destroyed.
 */

/** The contents of a disk, compared with the document. */
export type DiskFinding =
  /** No signature of any kind. */
  | 'blank'
  | 'matching table'
  | 'different table'
  /** A file system, RAID, LVM or encryption on the whole disk. */
  | 'other signature';

export type DiskDecision = 'create' | 'reuse' | 'refuse DiskNotEmpty' | 'refuse DeviceBusy';

/** `wipe` permits to destroy; it never commands it: a table that matches is reused and nothing in it is touched. */
export function decideDisk(finding: DiskFinding, wipe: boolean, inUse: boolean): DiskDecision {
  if (finding === 'matching table') return 'reuse';
  if (!wipe && finding !== 'blank') return 'refuse DiskNotEmpty';
  return inUse ? 'refuse DeviceBusy' : 'create';
}

/** The contents of a device, compared with the file system of the document. */
export type FilesystemFinding =
  | 'blank'
  /** Type and label (where one is asked for) as asked. */
  | 'same type and label'
  /** Of the UUID that this instance's interrupted mkfs was given. */
  | 'interrupted mkfs'
  | 'same type, other label'
  /** Another file system, LVM, RAID or encryption, several signatures at once, or a partition table. */
  | 'other signature';

export type FilesystemDecision = 'format' | 'reuse' | 'refuse FilesystemDiffers' | 'refuse DeviceBusy';

/**
 * @param overwrite the document says `overwrite: true`: format whatever is there. Once on each instance: for what this
 * instance made, it counts as false, and so does `replaceable`
 * @param replaceable all that is there is in the document's `replace`, which permits and never commands
 */
export function decideFilesystem(
  finding: FilesystemFinding,
  overwrite: boolean,
  replaceable: boolean,
  inUse: boolean,
): FilesystemDecision {
  if (finding === 'same type and label' && !overwrite) return 'reuse';
  const differs = finding === 'same type, other label' || finding === 'other signature';
  if (differs && !overwrite && !replaceable) return 'refuse FilesystemDiffers';
  return inUse ? 'refuse DeviceBusy' : 'format';
}

/** How a partition or a file system stands to what it is on. */
export type GrowthFinding =
  | 'no room'
  /** Its disk or its device has become larger. */
  | 'room behind it'
  /** Its disk has become larger, but another partition follows it. */
  | 'room, but not behind it'
  /** Its device became smaller. */
  | 'larger than its device';

export type GrowthDecision = 'keep' | 'report' | 'grow' | 'refuse GrowthFailed';

/** Nothing is ever moved or made smaller. @param grow the document says `grow: true` */
export function decideGrowth(finding: GrowthFinding, grow: boolean): GrowthDecision {
  if (finding === 'no room') return 'keep';
  if (!grow) return finding === 'larger than its device' ? 'keep' : 'report';
  return finding === 'room behind it' ? 'grow' : 'refuse GrowthFailed';
}
