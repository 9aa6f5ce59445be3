import { dirname } from 'node:path/posix';
import { STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { RootTree } from '../../host/local-files/root-tree.ts';
import { broken, type Clause, type ClauseResult, kept, notApplicable, notProven } from './clause.ts';
import { kernelsOf, kernelVersion } from './kernels.ts';
import { type Durability, durabilityOf, mountedAt } from './mounts.ts';
import { whyNotExecutable } from './program-files.ts';

/** BUILDING.md of Node 24: "Linux kernel >= 4.18, glibc >= 2.28". */
const KERNEL = [4, 18] as const;
const GLIBC = [2, 28] as const;
/** systemd NEWS: UnsetEnvironment=, without which UNIT-03 and UNIT-06 have no effect, came with 235. */
const SYSTEMD = 235;

/** Programs that every run needs: util-linux and coreutils. */
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

/** Daemons that are outside of root's PATH. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'systemd-timesyncd': ['/usr/lib/systemd/systemd-timesyncd', '/lib/systemd/systemd-timesyncd'],
};

const SYSTEMD_PROGRAMS = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd'];
const OPENRC_PROGRAMS = ['/sbin/openrc', '/usr/sbin/openrc', '/usr/bin/openrc'];

export const IMAGE_CLAUSES: readonly Clause[] = [
  {
    id: 'IMG-01',
    level: 'MUST',
    title: 'the kernel is Linux 4.18 or newer',
    check(subject) {
      const kernels = kernelsOf(subject);
      if (kernels.length === 0)
        return notProven('no kernel in /lib/modules or /boot: the machine boots one from elsewhere');
      for (const kernel of kernels) {
        const version = kernelVersion(kernel);
        if (version === undefined) return notProven(`the kernel calls itself ${kernel}`);
        if (isOlder(version, KERNEL)) return broken(`Linux ${kernel}`, 'Ship a kernel of 4.18 or newer.');
      }
      return kept(kernels.join(', '));
    },
  },
  {
    id: 'IMG-02',
    level: 'MUST',
    title: 'glibc 2.28, libstdc++.so.6 and libgcc_s.so.1, or newer',
    // Without these libraries the program cannot be started at all; the loader names the missing one.
    check: ({ tree, isRunning }) => (isRunning ? kept('this program was loaded') : libraries(tree)),
  },
  {
    id: 'IMG-03',
    level: 'MUST',
    title: 'systemd 235 or newer; OpenRC for documents that only prepare the host',
    check({ tree }) {
      const systemd = SYSTEMD_PROGRAMS.find((path) => tree.stat(path)?.type === 'file');
      if (systemd !== undefined) {
        const unfit = whyNotExecutable(tree, systemd);
        if (unfit !== undefined) return broken(unfit, 'Install systemd for the architecture of the image.');
        const version = installedSystemd(tree);
        if (version === undefined) return kept(systemd);
        return version < SYSTEMD
          ? broken(`systemd ${version}`, 'Ship systemd 235 or newer.')
          : kept(`systemd ${version}`);
      }
      const openrc = OPENRC_PROGRAMS.find((path) => tree.which(path) !== undefined);
      return openrc === undefined
        ? broken('neither systemd nor OpenRC', 'machineadm starts and enables services through one of them.')
        : kept(openrc);
    },
  },
  {
    id: 'IMG-04',
    level: 'MUST',
    title: `${EVERY_RUN.join(', ')}: in root's PATH`,
    check: ({ tree }) => programs(tree, EVERY_RUN, 'Install util-linux and coreutils.'),
  },
  {
    id: 'IMG-05',
    level: 'MUST',
    title: 'root owns the program and each directory above it, and no other user can write there',
    check({ tree, program }) {
      if (program === undefined) return notProven('machineadm is not installed here');
      const remedy = 'Install the program as root into /usr/local/bin, /usr/bin or /opt/bin.';
      // The directories of the path and, where it is a link, those of the file that it leads to.
      const paths = [program, tree.stat(program)?.path ?? program];
      for (const start of paths) {
        for (let path = start; ; path = dirname(path)) {
          const stat = tree.lstat(path);
          if (stat === undefined) return notProven(`${path} cannot be read`);
          // The sticky bit protects the files of others, but such a directory is still no place for a program of root.
          if (stat.uid !== 0 || (stat.type !== 'symlink' && (stat.mode & 0o022) !== 0)) {
            const mode = formatMode(stat.mode);
            return broken(`${path} has the mode ${mode} and belongs to user ${stat.uid}`, remedy);
          }
          if (path === '/') break;
        }
      }
      const unfit = whyNotExecutable(tree, program);
      return unfit === undefined
        ? kept(program)
        : broken(unfit, 'Install the binary for the architecture of the image.');
    },
  },
  {
    id: 'IMG-06',
    level: 'MUST',
    title: '/var/lib/machineadm is on a disk, because a run resumes after a reboot from the journal there',
    check: (subject) =>
      durable(durabilityOf(subject, STATE_DIRECTORY), 'Mount a disk at /var or at /var/lib/machineadm.'),
  },
  {
    id: 'IMG-07',
    level: 'MUST',
    title: '/run is in memory, so that the sentinel and the status of a run do not survive a reboot',
    check(subject) {
      const mount = mountedAt(subject, '/run');
      if (mount !== undefined) {
        return /^(tmpfs|ramfs)$/.test(mount.type)
          ? kept(`${mount.type} (${mount.source})`)
          : broken(
              `it is ${mount.type} (${mount.source})`,
              'Mount a tmpfs at /run, as systemd does (file-hierarchy(7)).',
            );
      }
      if (subject.isRunning) return broken('nothing is mounted there', 'Mount a tmpfs at /run (file-hierarchy(7)).');
      // systemd src/shared/mount-setup.c and OpenRC sh/init.sh.Linux.in mount a tmpfs at /run whatever fstab says.
      return [...SYSTEMD_PROGRAMS, ...OPENRC_PROGRAMS].some((path) => subject.tree.stat(path) !== undefined)
        ? kept('the init system mounts a tmpfs there')
        : notProven('no init system of this image mounts it');
    },
  },
  {
    id: 'IMG-08',
    level: 'MUST',
    title: '/etc is writable, and its files survive a reboot',
    check: (subject) => durable(durabilityOf(subject, '/etc'), 'Mount a writable /etc whose changes are on a disk.'),
  },
  {
    id: 'IMG-18',
    level: 'MUST',
    title: '/proc is mounted, also in the chroot of a bake, because machineadm reaches files through /proc/self/fd',
    check({ tree, isRunning }) {
      if (!isRunning) return notApplicable('an init system mounts it when the image boots');
      return tree.stat('/proc/self/fd') === undefined
        ? broken('/proc/self/fd does not exist', 'Mount it: "mount -t proc proc /proc".')
        : kept('/proc/self/fd exists');
    },
  },
  ...BY_SECTION.map(([id, section, names]): Clause => {
    const spelled = names.map((name) => (typeof name === 'string' ? name : name.join(' or '))).join(', ');
    return {
      id,
      level: 'SHOULD',
      title: `${spelled}: for ${section}`,
      check: ({ tree }) =>
        programs(tree, names, `Install them, or ship no document that asks for ${section}: it is refused.`),
    };
  }),
];

/** Looks for each of these programs, or for one of several, and whether the image can execute it. */
export function programs(tree: RootTree, names: readonly (string | readonly string[])[], remedy: string): ClauseResult {
  const missing: string[] = [];
  for (const name of names) {
    const choices = typeof name === 'string' ? [name] : name;
    const paths = choices.flatMap((choice) => [choice, ...(ELSEWHERE[choice] ?? [])].map((one) => tree.which(one)));
    const found = paths.filter((path) => path !== undefined);
    const unfit = found.map((path) => whyNotExecutable(tree, path));
    if (found.length === 0) missing.push(choices.join(' or '));
    else if (!unfit.includes(undefined)) missing.push(unfit[0] ?? '');
  }
  return missing.length === 0 ? kept('there') : broken(`missing: ${missing.join(', ')}`, remedy);
}

function durable({ state, text }: Durability, remedy: string): ClauseResult {
  if (state === 'unknown') return notProven(text);
  return state === 'lasting' ? kept(text) : broken(text, remedy);
}

/** Directories of the loader (ld.so(8)) by the conventions of Debian, of Red Hat and SUSE, and of others. */
function libraryDirectories(tree: RootTree): readonly string[] {
  const multiarch = ['/usr/lib', '/lib'].flatMap((directory) =>
    tree.list(directory).flatMap((name) => (/-linux-gnu/.test(name) ? [`${directory}/${name}`] : [])),
  );
  return ['/lib64', '/usr/lib64', ...multiarch, '/usr/lib', '/lib'];
}

function libraries(tree: RootTree): ClauseResult {
  const find = (name: string): string | undefined =>
    libraryDirectories(tree)
      .map((directory) => `${directory}/${name}`)
      .find((path) => tree.stat(path)?.type === 'file');
  const libc = find('libc.so.6');
  const remedy = 'Use a distribution with glibc 2.28 or newer, and install libstdc++ and libgcc.';
  if (libc === undefined) return broken('libc.so.6 of glibc is missing', remedy);
  const text = Buffer.from(tree.readRange(libc, 0, 16 * 1024 * 1024) ?? []).toString('latin1');
  const [, major, minor] = /GNU C Library[^\n]{0,200}? version (\d{1,3})\.(\d{1,3})/.exec(text) ?? [];
  if (major === undefined) return notProven(`${libc} does not name its version`);
  const version = `glibc ${major}.${minor}`;
  if (isOlder([Number(major), Number(minor)], GLIBC)) return broken(version, remedy);
  const missing = ['libstdc++.so.6', 'libgcc_s.so.1'].filter((name) => find(name) === undefined);
  return missing.length === 0 ? kept(version) : broken(`missing: ${missing.join(', ')}`, remedy);
}

/** From the shared library of systemd's programs, whose name contains the version and revision of the package. */
function installedSystemd(tree: RootTree): number | undefined {
  const names = [...libraryDirectories(tree), '/usr/lib', '/lib'].flatMap((directory) =>
    tree.list(`${directory}/systemd`),
  );
  return names.map(systemdVersion).find((version) => version !== undefined);
}

/** `systemd 252 (252.22-1~deb12u1)` of `systemctl --version`, or `libsystemd-shared-252-32.el9_4.so`. */
export function systemdVersion(text: string): number | undefined {
  const [, version] = /^(?:systemd |libsystemd-shared-)(\d{3})\b/.exec(text) ?? [];
  return version === undefined ? undefined : Number(version);
}

function isOlder(version: readonly [number, number], than: readonly [number, number]): boolean {
  return version[0] < than[0] || (version[0] === than[0] && version[1] < than[1]);
}
