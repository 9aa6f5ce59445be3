import { dirname } from 'node:path/posix';
import type { QueryHost } from '../../host/seam/host.ts';
import { parseVersion } from '../../host/seam/version.ts';
import { broken, type Clause, type Finding, kept, unchecked } from './clause.ts';

/** BUILDING.md of Node 24: "Linux kernel >= 4.18, glibc >= 2.28". */
const KERNEL = { major: 4, minor: 18 };

/** Programs of every run: util-linux and coreutils. */
const EVERY_RUN = ['findmnt', 'lsblk', 'mount', 'umount', 'sync', 'sh'];

/**
 * Programs by what a document asks for. Where one is missing, a document that needs it is refused before anything
 * changes; so an image may leave out what its documents never ask for.
 */
const BY_SECTION: readonly (readonly [string, string, readonly (string | readonly string[])[]])[] = [
  ['IMG-10', 'host.users and host.groups', ['useradd', 'usermod', 'groupadd', 'chpasswd', 'getent', 'setpriv']],
  ['IMG-11', 'host.users[].sudo', ['visudo']],
  ['IMG-12', 'host.storage', ['sfdisk', 'partx', 'wipefs', 'blkid', 'udevadm', 'mkfs.ext4']],
  ['IMG-13', 'host.kernelModules', ['modprobe']],
  ['IMG-14', 'host.swap', ['swapon', 'swapoff']],
  ['IMG-15', 'host.certificateAuthorities', [['update-ca-certificates', 'update-ca-trust']]],
  ['IMG-16', 'host.time', [['chronyd', 'systemd-timesyncd', 'ntpd']]],
  ['IMG-17', 'the structured log', ['logger']],
];

/** Daemons that lie outside of root's PATH. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'systemd-timesyncd': ['/usr/lib/systemd/systemd-timesyncd', '/lib/systemd/systemd-timesyncd'],
};

export const IMAGE_CLAUSES: readonly Clause[] = [
  {
    id: 'IMG-01',
    level: 'MUST',
    title: 'the kernel is Linux 4.18 or newer',
    async look({ facts: { kernel } }) {
      const version = parseVersion(kernel);
      if (version === undefined) return broken(`the kernel calls itself ${kernel}`, 'Boot a release kernel of Linux.');
      const isNew = version.major > KERNEL.major || (version.major === KERNEL.major && version.minor >= KERNEL.minor);
      return isNew ? kept(kernel) : broken(`Linux ${kernel}`, 'Ship a kernel of 4.18 or newer.');
    },
  },
  {
    id: 'IMG-02',
    level: 'MUST',
    title: 'glibc 2.28, libstdc++.so.6 and libgcc_s.so.1, each or newer',
    // Without them the loader starts no instruction of this program, and says which one it misses.
    look: async () => kept('this program was loaded'),
  },
  {
    id: 'IMG-03',
    level: 'MUST',
    title: 'systemd, or OpenRC for what the document asks of the host',
    async look({ host, facts, isBooted }) {
      if (facts.serviceManager !== 'none') return kept(facts.serviceManager);
      for (const path of ['/usr/lib/systemd/systemd', '/lib/systemd/systemd', '/sbin/openrc', '/usr/sbin/openrc']) {
        if (!isBooted && (await host.stat(path)) !== undefined) return kept(`${path}, not running`);
      }
      return broken('neither systemd nor OpenRC', 'machineadm starts and enables services through one of them.');
    },
  },
  {
    id: 'IMG-04',
    level: 'MUST',
    title: `${EVERY_RUN.join(', ')}: in root's PATH`,
    look: async ({ host }) => await programs(host, EVERY_RUN, 'Install util-linux and coreutils.'),
  },
  {
    id: 'IMG-05',
    level: 'MUST',
    title: 'the program belongs to root, and so does its way; nobody else can write there',
    async look({ host, program }) {
      for (let path = program; ; path = dirname(path)) {
        const stat = await host.stat(path);
        if (stat === undefined) return unchecked(`${path} cannot be looked at`);
        // A directory with the sticky bit keeps others from replacing what is not theirs; it is still no place for this.
        if (stat.uid !== 0 || (stat.type !== 'symlink' && (stat.mode & 0o022) !== 0)) {
          const found = `${path} has the mode ${(stat.mode & 0o7777).toString(8).padStart(4, '0')} and belongs to user ${stat.uid}`;
          return broken(found, 'Install the program as root into /usr/local/bin, /usr/bin or /opt/bin.');
        }
        if (path === '/') return kept(program);
      }
    },
  },
  {
    id: 'IMG-06',
    level: 'MUST',
    title: '/var/lib is on a disk: what a run notes there outlives a reboot',
    async look({ host, isBooted }) {
      if (!isBooted) return unchecked('told only by a machine that was booted');
      const type = await fileSystemOf(host, '/var/lib/machineadm');
      if (type === undefined) return unchecked('findmnt does not tell');
      return /^(tmpfs|ramfs)$/.test(type)
        ? broken(`it is a ${type}`, 'Mount a disk at /var or at /var/lib/machineadm.')
        : kept(type);
    },
  },
  {
    id: 'IMG-07',
    level: 'MUST',
    title: '/run is in memory: the sentinel and the status of a run do not outlive a reboot',
    async look({ host, isBooted }) {
      if (!isBooted) return unchecked('told only by a machine that was booted');
      const type = await fileSystemOf(host, '/run');
      if (type === undefined) return unchecked('findmnt does not tell');
      return /^(tmpfs|ramfs)$/.test(type)
        ? kept(type)
        : broken(`it is ${type}`, 'Mount a tmpfs at /run, as systemd does (file-hierarchy(7)).');
    },
  },
  {
    id: 'IMG-08',
    level: 'MUST',
    title: '/etc can be written',
    async look({ host }) {
      const { status, stdout } = await host.query({ program: 'findmnt', args: ['-n', '-o', 'OPTIONS', '-T', '/etc'] });
      const options = stdout.trim().split('\n').at(-1)?.split(',') ?? [];
      if (status !== 0) return unchecked('findmnt does not tell');
      return options.includes('ro')
        ? broken('it is mounted read-only', 'Mount a writable /etc, or an overlay over it.')
        : kept('writable');
    },
  },
  {
    id: 'IMG-18',
    level: 'MUST',
    title:
      '/proc is mounted, in the chroot of a bake, too: files are reached by descriptors, which /proc/self/fd names',
    async look({ host, isBooted }) {
      if ((await host.stat('/proc/self/fd')) !== undefined) return kept('/proc/self/fd is there');
      if (!isBooted) return unchecked('not mounted in this chroot');
      return broken('/proc/self/fd does not exist', 'Mount it: "mount -t proc proc /proc".');
    },
  },
  ...BY_SECTION.map(([id, section, names]): Clause => {
    const spelled = names.map((name) => (typeof name === 'string' ? name : name.join(' or '))).join(', ');
    return {
      id,
      level: 'SHOULD',
      title: `${spelled}: for ${section}`,
      look: async ({ host }) =>
        await programs(host, names, `Install them, or ship no document that asks for ${section}: it is refused.`),
    };
  }),
];

/** Looks for each of these programs, or for one of several. */
export async function programs(
  host: QueryHost,
  names: readonly (string | readonly string[])[],
  remedy: string,
): Promise<Finding> {
  const missing: string[] = [];
  for (const name of names) {
    const choices = typeof name === 'string' ? [name] : name;
    const found = await Promise.all(choices.map(async (choice) => await isThere(host, choice)));
    if (!found.includes(true)) missing.push(choices.join(' or '));
  }
  return missing.length === 0 ? kept('there') : broken(`missing: ${missing.join(', ')}`, remedy);
}

async function isThere(host: QueryHost, program: string): Promise<boolean> {
  if ((await host.which(program)) !== undefined) return true;
  for (const path of ELSEWHERE[program] ?? []) if ((await host.stat(path)) !== undefined) return true;
  return false;
}

/** The type of the file system that this path lies on, or would. */
async function fileSystemOf(host: QueryHost, path: string): Promise<string | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const { status, stdout } = await host.query({ program: 'findmnt', args: ['-n', '-o', 'FSTYPE', '-T', at] });
    if (status === 0) return stdout.trim().split('\n').at(-1);
    if (at === '/') return undefined;
  }
}
