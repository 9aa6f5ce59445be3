import { ABSENT, type DroppedField, drift, edit, type FeatureCases, staying } from '../../../support/feature-cases.ts';

const DEVICE = { none: 'says which device is meant' };
const DECISIONS = 'test/slow/features/storage-decisions.test.ts';
const STORAGE = 'test/slow/features/storage.test.ts';
const SOURCES = 'test/unit/features/storage/source-mounts.test.ts';
const GROWTH = 'test/slow/features/storage-growth.test.ts';
const DATA: DroppedField = { why: 'no run deletes data; the plan says that it stays' };

export const cases: FeatureCases = {
  everything: `storage:
  mounts:
    - {device: {path: /dev/vdb}, path: /srv/data, options: [noatime]}`,
  undo: {
    'a mount': staying(
      'storage: {mounts: [{device: {path: /dev/vdb}, path: /srv/data}]}',
      /fstab|mountinfo|^\/srv\/data /,
      /^\/srv\/data stays mounted/,
    ),
    'a mount over the directory of containerd': staying(
      'storage: {mounts: [{device: {path: /dev/vdb}, path: /var/lib/containerd}]}',
      /fstab|mountinfo|^\/var\/lib\/containerd /,
      /^\/var\/lib\/containerd stays mounted/,
    ),
    'more swap': staying(
      'storage: {mounts: [{device: {path: /dev/vdb}, type: swap}]}',
      /fstab|swaps/,
      /^swap on \/dev\/vdb stays on/,
    ),
    'no mount any more': 'storage: {mounts: [{device: {path: /dev/vdc}, path: /mnt/old, absent: true}]}',
  },
  drifts: {
    'host.storage.disks[].device.*': DEVICE,
    'host.storage.disks[].table': {
      elsewhere: [
        STORAGE,
        'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again',
      ],
    },
    'host.storage.disks[].wipe': { elsewhere: [DECISIONS, ', wipe '] },
    'host.storage.disks[].partitions[].label': {
      elsewhere: [
        STORAGE,
        'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again',
      ],
    },
    'host.storage.disks[].partitions[].size': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
    'host.storage.disks[].partitions[].type': {
      elsewhere: [
        STORAGE,
        'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again',
      ],
    },
    'host.storage.disks[].partitions[].grow': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
    'host.storage.filesystems[].device.*': DEVICE,
    'host.storage.filesystems[].type': { elsewhere: [DECISIONS, ', overwrite '] },
    'host.storage.filesystems[].label': { elsewhere: [DECISIONS, ', overwrite '] },
    'host.storage.filesystems[].options[]': {
      none: 'are those of mkfs: a file system that is there is never made anew for them',
    },
    'host.storage.filesystems[].grow': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
    'host.storage.filesystems[].overwrite': { elsewhere: [DECISIONS, ', overwrite '] },
    'host.storage.filesystems[].replace[]': { elsewhere: [DECISIONS, ', replace '] },
    'host.storage.mounts[].device.*': DEVICE,
    'host.storage.mounts[].source': {
      elsewhere: [SOURCES, 'of the same file system but another directory is a conflict'],
    },
    'host.storage.mounts[].size': { elsewhere: [SOURCES, 'in whose place something else is, is refused before'] },
    'host.storage.mounts[].path': [
      drift('not mounted', edit('/proc/self/mountinfo', /.* \/srv\/data .*\n/, ''), 'mounts//srv/data'),
      drift('not at the next boot', edit('/etc/fstab', /.* \/srv\/data .*\n/, ''), 'mounts//srv/data'),
    ],
    'host.storage.mounts[].type': [
      drift('another type at the next boot', edit('/etc/fstab', '/srv/data ext4', '/srv/data xfs'), 'mounts//srv/data'),
    ],
    'host.storage.mounts[].options[]': [
      drift('other options', edit('/proc/self/mountinfo', ' noatime ', ' rw,relatime '), 'mounts//srv/data'),
      drift('other options at the next boot', edit('/etc/fstab', 'noatime', 'atime'), 'mounts//srv/data'),
    ],
    'host.storage.mounts[].absent': {
      elsewhere: [
        'test/unit/undo/removals/removed-names.test.ts',
        'is unmounted and forgotten at boot, and what others wrote stays',
      ],
    },
  },
  dropped: {
    'host.storage.disks[].**': DATA,
    'host.storage.filesystems[].**': DATA,
    'host.storage.mounts[].**': {
      why: 'programs may work in it; the plan says that it stays',
      stays: /^\/(?:etc\/fstab|proc\/self\/mountinfo|srv\/data) /,
    },
    'host.storage.mounts[].absent': ABSENT,
  },
};
