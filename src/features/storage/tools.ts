import type { QueryHost } from '../../host/seam/host.ts';
import type { UnmetRequirement } from '../../step/index.ts';

/** Which package brings a program: Debian's name, then that of others where it differs. */
const PACKAGES: Readonly<Record<string, string>> = {
  sfdisk: 'fdisk (Debian, Ubuntu) or util-linux',
  'mkfs.ext4': 'e2fsprogs',
  dumpe2fs: 'e2fsprogs',
  resize2fs: 'e2fsprogs',
  xfs_info: 'xfsprogs',
  xfs_growfs: 'xfsprogs',
  btrfs: 'btrfs-progs',
  'mkfs.xfs': 'xfsprogs',
  'mkfs.btrfs': 'btrfs-progs',
  'mkfs.vfat': 'dosfstools',
  mount: 'mount (Debian, Ubuntu) or util-linux',
  swapon: 'mount (Debian, Ubuntu) or util-linux',
  'mount.nfs': 'nfs-common (Debian, Ubuntu) or nfs-utils',
  'mount.nfs4': 'nfs-common (Debian, Ubuntu) or nfs-utils',
  dd: 'coreutils',
  install: 'coreutils',
  mv: 'coreutils',
  chattr: 'e2fsprogs',
};

/** Programs that are not installed, each with the package to install. */
export async function missingTools(host: QueryHost, programs: readonly string[]): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  for (const program of new Set(programs)) {
    if ((await host.which(program)) !== undefined) continue;
    missing.push({
      reason: 'StorageToolMissing',
      what: `${program} is not installed`,
      remedy: `Install ${PACKAGES[program] ?? 'util-linux'}, preferably in the image.`,
      scope: 'node',
    });
  }
  return missing;
}
