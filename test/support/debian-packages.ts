import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { needs } from './needs.ts';

export type Unpacked = { readonly root: string } | { readonly unavailable: string };

/**
 * Packages of this Debian, unpacked without installing them: fetched once with the machine's own apt and kept in the
 * cache as `name`. Returns their root directory, or why they cannot be had.
 *
 * @param program a path inside them, by which a cache is known to be whole
 */
export function debianPackages(name: string, packages: readonly string[], program: string): Unpacked {
  const cache = join(homedir(), '.cache', 'machineadm', name);
  const kept = join(cache, 'root');
  if (existsSync(join(kept, program))) return { root: kept };
  const missing = needs('apt-get');
  if (missing !== false) return { unavailable: missing };
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const apt = spawnSync('apt-get', ['-qq', 'download', ...packages], {
      cwd: work,
      encoding: 'utf8',
      timeout: 180_000,
    });
    if (apt.status !== 0) return { unavailable: `${name} cannot be had: ${apt.stderr.trim().split('\n').at(-1)}` };
    for (const file of readdirSync(work).filter((entry) => entry.endsWith('.deb'))) {
      const unpacked = spawnSync('dpkg', ['-x', join(work, file), join(work, 'root')], { encoding: 'utf8' });
      if (unpacked.status !== 0) return { unavailable: unpacked.stderr.trim() };
    }
    renameSync(join(work, 'root'), kept);
    return { root: kept };
  } finally {
    rmSync(work, { recursive: true });
  }
}
