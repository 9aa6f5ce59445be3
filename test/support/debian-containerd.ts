import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { needs } from './needs.ts';

/** The releases of Debian that carry a containerd of each kind: 1.6, 1.7 and 2.x. */
export type Suite = 'bookworm' | 'trixie' | 'sid';

/** Those that tests run: the oldest and the newest, and 1.7 too with MACHINEADM_E2E=all (`npm run test:all`). */
export const SUITES: readonly Suite[] =
  process.env.MACHINEADM_E2E === 'all' ? ['bookworm', 'trixie', 'sid'] : ['bookworm', 'sid'];

/**
 * The unpacked containerd of a Debian release, without installing it: fetched once with the machine's own apt mirror
 * and kept in the cache. Returns its root directory, or why it cannot be had.
 */
export function debianContainerd(suite: Suite): { readonly root: string } | { readonly unavailable: string } {
  const cache = join(homedir(), '.cache', 'machineadm', 'test-containerd');
  const kept = join(cache, suite);
  if (existsSync(join(kept, 'usr/bin/containerd'))) return { root: kept };
  const missing = needs('apt-get');
  if (missing !== false) return { unavailable: missing };
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const problem = fetchFromSuite(work, suite, ['containerd']);
    if (problem !== undefined) return { unavailable: `containerd of ${suite} cannot be had: ${problem}` };
    renameSync(join(work, 'root'), kept);
    return { root: kept };
  } finally {
    rmSync(work, { recursive: true });
  }
}

/**
 * Unpacks packages of a suite into `root` of a directory, which is kept apart from this machine's apt but for its mirror.
 * Returns why that did not work.
 */
export function fetchFromSuite(work: string, suite: Suite, packages: readonly string[]): string | undefined {
  const sites = spawnSync(
    'apt-get',
    ['indextargets', '--format', '$(SITE)', 'Created-By: Packages', 'Component: main'],
    {
      encoding: 'utf8',
    },
  );
  const site = sites.stdout?.split('\n')[0];
  if (site === undefined || site === '') return 'apt has no source';
  mkdirSync(join(work, 'state/lists/partial'), { recursive: true });
  mkdirSync(join(work, 'cache/archives/partial'), { recursive: true });
  writeFileSync(join(work, 'sources.list'), `deb ${site} ${suite} main\n`);
  const options = [
    ['Dir::Etc::sourcelist', join(work, 'sources.list')],
    ['Dir::Etc::sourceparts', '/dev/null'],
    ['Dir::State', join(work, 'state')],
    ['Dir::Cache', join(work, 'cache')],
  ].flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  for (const command of [['update'], ['download', ...packages]]) {
    const apt = spawnSync('apt-get', [...options, '-qq', ...command], {
      cwd: work,
      encoding: 'utf8',
      timeout: 180_000,
    });
    if (apt.status !== 0) return apt.stderr.trim().split('\n').at(-1) ?? `apt-get ${command[0]} failed`;
  }
  for (const name of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
    const unpacked = spawnSync('dpkg', ['-x', join(work, name), join(work, 'root')], { encoding: 'utf8' });
    if (unpacked.status !== 0) return unpacked.stderr.trim();
  }
  return undefined;
}
