import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where a program or a file that tests need comes from. */
interface Source {
  /** The Debian package. */
  readonly package: string;
  /** Whether it is there; default: a program of this name is in the search path, or a file of this path exists. */
  readonly isThere?: () => boolean;
  /** Too large for `npm run setup:tests`. */
  readonly isLarge?: true;
}

/**
 * The programs and files that tests need, beyond those of Debian's `required` packages (debootstrap --variant=minbase). A
 * test declares them with `needs` (test/support/needs.ts). None of the packages starts a daemon.
 */
const SOURCES = {
  strace: { package: 'strace' },
  ip: { package: 'iproute2' },
  pgrep: { package: 'procps' },
  pkill: { package: 'procps' },
  ps: { package: 'procps' },
  sysctl: { package: 'procps' },
  modprobe: { package: 'kmod' },
  openssl: { package: 'openssl' },
  'update-ca-certificates': { package: 'ca-certificates' },
  git: { package: 'git' },
  'pre-commit': { package: 'pre-commit' },
  jq: { package: 'jq' },
  xz: { package: 'xz-utils' },
  sfdisk: { package: 'fdisk' },
  'mkfs.ext4': { package: 'e2fsprogs' },
  'mkfs.xfs': { package: 'xfsprogs' },
  'mkfs.btrfs': { package: 'btrfs-progs' },
  'mkfs.vfat': { package: 'dosfstools' },
  visudo: { package: 'sudo' },
  busybox: { package: 'busybox' },
  curl: { package: 'curl' },
  faketime: { package: 'faketime' },
  shellcheck: { package: 'shellcheck' },
  wget: { package: 'wget' },
  rpmbuild: { package: 'rpm' },
  gpg: { package: 'gnupg' },
  createrepo_c: { package: 'createrepo-c' },
  lintian: { package: 'lintian' },
  python3: { package: 'python3' },
  'jsonschema for Python': { package: 'python3-jsonschema', isThere: () => runs('python3', '-c', 'import jsonschema') },
  chromium: { package: 'chromium', isThere: () => ['chromium', 'chromium-browser', 'google-chrome'].some(isInstalled) },
  tmux: { package: 'tmux' },
  zsh: { package: 'zsh' },
  fish: { package: 'fish' },
  // For its function `_init_completion` and its loader.
  '/usr/share/bash-completion/bash_completion': { package: 'bash-completion' },
  systemctl: { package: 'systemd' },
  networkctl: { package: 'systemd' },
  'systemd-creds': { package: 'systemd' },
  // systemd 250 checks unit files that are not installed (NEWS of 250).
  'systemd-analyze': {
    package: 'systemd',
    isThere: () => prints('--offline', 'systemd-analyze', 'security', '--help'),
  },
  '/lib/systemd/systemd-journald': { package: 'systemd' },
  '/lib/systemd/systemd-networkd': { package: 'systemd' },
  '/lib/systemd/systemd': { package: 'systemd' },
  'systemd-nspawn': { package: 'systemd-container' },
  'dbus-daemon': { package: 'dbus-daemon' },
  '/usr/share/dbus-1/system.conf': { package: 'dbus-system-bus-common' },
  go: { package: 'golang-go', isLarge: true },
  '/usr/share/gocode/src/github.com/xeipuuv/gojsonschema': {
    package: 'golang-github-xeipuuv-gojsonschema-dev',
    isLarge: true,
  },
  'qemu-aarch64-static': { package: 'qemu-user-static', isLarge: true },
  dpkg: { package: 'dpkg' },
  'apt-get': { package: 'apt' },
} as const satisfies Readonly<Record<string, Source>>;

/** A program by its name, or a file by its path. */
export type Program = keyof typeof SOURCES;

export const PROGRAMS: Readonly<Record<Program, Source>> = SOURCES;

export function isProgram(name: string): name is Program {
  return Object.hasOwn(SOURCES, name);
}

/** Whether a program or a file is there. */
export function isThere(name: Program): boolean {
  return PROGRAMS[name].isThere?.() ?? isInstalled(name);
}

/** The programs, or the packages that bring them, as a skipped test names them: `sfdisk (Debian: fdisk)`. */
export function withPackage(name: Program): string {
  return `${name} (Debian: ${PROGRAMS[name].package})`;
}

/** The packages that skipped tests name and that `npm run setup:tests` installs, sorted. */
export function packagesNamedIn(reasons: Iterable<string>): readonly string[] {
  const named = new Set(
    [...reasons].flatMap((text) => [...text.matchAll(/\(Debian: ([^)]+)\)/g)].map(([, one]) => one)),
  );
  const installed = Object.values(PROGRAMS).filter((source) => named.has(source.package) && source.isLarge !== true);
  return [...new Set(installed.map((source) => source.package))].sort();
}

const SEARCHED = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program);
  const path = (process.env.PATH ?? '').split(':').filter((directory) => directory !== '');
  return [...path, ...SEARCHED].some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function runs(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args).status === 0;
}

function prints(text: string, program: string, ...args: readonly string[]): boolean {
  return (spawnSync(program, args, { encoding: 'utf8' }).stdout ?? '').includes(text);
}

function missingPackages(): readonly string[] {
  const names = Object.keys(SOURCES).filter(isProgram);
  const missing = names.filter((name) => PROGRAMS[name].isLarge !== true && !isThere(name));
  return [...new Set(missing.map((name) => PROGRAMS[name].package))].sort();
}

/** Installs the packages whose programs are missing. @returns whether all are there now. */
function installTestPackages(): boolean {
  const packages = missingPackages();
  if (packages.length === 0) return true;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    console.error(`this needs root and apt-get; the packages are named so in Debian: ${packages.join(' ')}`);
    return false;
  }
  console.log(`installing with apt: ${packages.join(', ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '--yes', '--quiet', '--no-install-recommends', ...packages];
  let { status } = spawnSync('apt-get', install, { stdio: 'ignore', env });
  if (status !== 0) {
    // The package lists of a fresh image are empty or old.
    spawnSync('apt-get', ['update', '--quiet'], { stdio: 'ignore', env });
    ({ status } = spawnSync('apt-get', install, { stdio: ['ignore', 'ignore', 'inherit'], env }));
  }
  const left = missingPackages();
  if (left.length > 0) console.error(`still missing: ${left.join(' ')}`);
  return status === 0 && left.length === 0;
}

if (import.meta.main) process.exitCode = installTestPackages() ? 0 : 1;
