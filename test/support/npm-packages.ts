import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Unpacked } from './debian-packages.ts';

/**
 * A package of npm that only a test needs, unpacked and not installed: none of its scripts runs. It is of exactly these
 * bytes (`npm view NAME@VERSION dist.integrity`), and kept in the cache. Returns its directory, or why it cannot be had.
 */
export function npmPackage(name: string, version: string, integrity: string): Unpacked {
  const cache = join(homedir(), '.cache', 'machineadm', 'test-npm');
  const kept = join(cache, `${name}-${version}-${Buffer.from(integrity).toString('hex').slice(-24)}`);
  if (existsSync(join(kept, 'package.json'))) return { root: kept };
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const args = ['pack', `${name}@${version}`, '--ignore-scripts', '--pack-destination', work];
    const packed = spawnSync('npm', args, { cwd: work, encoding: 'utf8', timeout: 180_000 });
    if (packed.status !== 0) return { unavailable: `${name}@${version} cannot be had with npm` };
    const archive = join(work, packed.stdout.trim().split('\n').at(-1) ?? '');
    const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
    if (`sha512-${digest}` !== integrity) throw new Error(`${name}@${version} is not the file that is pinned`);
    const unpacked = spawnSync('tar', ['-xzf', archive, '-C', work], { encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(unpacked.stderr);
    // Another test may have been faster; its bytes are the same.
    if (!existsSync(kept)) renameSync(join(work, 'package'), kept);
    return { root: kept };
  } finally {
    rmSync(work, { recursive: true });
  }
}
