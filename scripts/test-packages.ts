import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

/** Programs that integration tests use, and the Debian packages that hold them. None of them starts a daemon. */
const PACKAGES: Readonly<Record<string, string>> = {
  strace: 'strace',
  ip: 'iproute2',
  ps: 'procps',
  modprobe: 'kmod',
  unshare: 'util-linux',
  openssl: 'openssl',
  git: 'git',
  xz: 'xz-utils',
  sfdisk: 'fdisk',
  'mkfs.xfs': 'xfsprogs',
  'mkfs.btrfs': 'btrfs-progs',
  'mkfs.vfat': 'dosfstools',
  visudo: 'sudo',
  busybox: 'busybox',
  curl: 'curl',
  dash: 'dash',
  faketime: 'faketime',
  shellcheck: 'shellcheck',
  wget: 'wget',
  rpmbuild: 'rpm',
  gpg: 'gnupg',
  createrepo_c: 'createrepo-c',
  lintian: 'lintian',
  python3: 'python3',
  jsonschema: 'python3-jsonschema',
  chromium: 'chromium',
  tmux: 'tmux',
  zsh: 'zsh',
  fish: 'fish',
  // For its function `_init_completion` and its loader.
  '/usr/share/bash-completion/bash_completion': 'bash-completion',
};

const SEARCHED = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** A program by its name, or a file by its path. */
function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program);
  return SEARCHED.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function missingPrograms(): readonly string[] {
  return Object.keys(PACKAGES).filter((program) => !isInstalled(program));
}

/** Prints the missing programs. The tests that need them are skipped. */
export function printMissingPrograms(): void {
  const missing = missingPrograms();
  if (missing.length === 0) return;
  console.log(`not installed here: ${missing.join(', ')}; the tests that need them are skipped`);
  console.log('`npm run setup:tests`, as root on a Debian-like system, installs them');
}

/** Installs the packages whose programs are missing. @returns whether all are there now. */
function installTestPackages(): boolean {
  const missing = missingPrograms();
  if (missing.length === 0) return true;
  const packages = [...new Set(missing.map((program) => PACKAGES[program] ?? program))];
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
  return status === 0 && missingPrograms().length === 0;
}

if (import.meta.main) process.exitCode = installTestPackages() ? 0 : 1;
