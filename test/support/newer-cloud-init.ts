import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fetchFromSuite } from './debian-containerd.ts';
import { debianPackages, type Unpacked } from './debian-packages.ts';

/** The release of Debian whose cloud-init is the newest that runs with Debian 12's Python. */
const SUITE = 'trixie';
const UNITS = ['cloud-init-main', 'cloud-init-local', 'cloud-init-network', 'cloud-config', 'cloud-final'];

/**
 * A layer that is laid over the lab's layer with Debian 12's cloud-init and makes it that of Debian 13, 25.1: its files, its
 * units enabled as its postinst does, and netcat, which its units speak through. Or why it cannot be had.
 */
export function newerCloudInitLayer(): Unpacked {
  const netcat = debianPackages('test-netcat', ['netcat-openbsd', 'libbsd0', 'libmd0'], 'bin/nc.openbsd');
  if ('unavailable' in netcat) return netcat;
  const cache = join(homedir(), '.cache', 'machineadm', 'test-cloud-init-newer');
  const kept = join(cache, 'root');
  if (existsSync(join(kept, 'usr/bin/nc'))) return { root: kept };
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const problem = fetchFromSuite(work, SUITE, ['cloud-init']);
    if (problem !== undefined) return { unavailable: `cloud-init of ${SUITE} cannot be had: ${problem}` };
    const layer = join(work, 'root');
    const enabled = join(layer, 'etc/systemd/system/cloud-init.target.wants');
    mkdirSync(enabled, { recursive: true });
    for (const unit of UNITS) symlinkSync(`/usr/lib/systemd/system/${unit}.service`, join(enabled, `${unit}.service`));
    // The one of 22.4 that is gone in 25.1.
    symlinkSync('/dev/null', join(layer, 'etc/systemd/system/cloud-init.service'));
    for (const path of ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu']) {
      const from = join(netcat.root, path);
      if (existsSync(from)) cpSync(from, join(layer, path), { recursive: true, verbatimSymlinks: true });
    }
    cpSync(join(netcat.root, 'bin'), join(layer, 'usr/bin'), { recursive: true, verbatimSymlinks: true });
    symlinkSync('nc.openbsd', join(layer, 'usr/bin/nc'));
    renameSync(layer, kept);
    return { root: kept };
  } finally {
    rmSync(work, { recursive: true });
  }
}
