import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** cloud-init and those of its dependencies that a machine with python3 may lack. */
const PACKAGES = [
  'cloud-init',
  'libyaml-0-2',
  ...'attr certifi chardet configobj idna jinja2 json-pointer jsonpatch jsonschema markupsafe netifaces oauthlib pyrsistent requests serial six urllib3 yaml'
    .split(' ')
    .map((name) => `python3-${name}`),
];

/**
 * The unpacked cloud-init of this Debian, without installing it: fetched once with the machine's own apt and kept in the
 * cache. Returns its root directory, or why it cannot be had.
 */
export function debianCloudInit(): { readonly root: string } | { readonly unavailable: string } {
  const cache = join(homedir(), '.cache', 'machineadm', 'test-cloud-init');
  const kept = join(cache, 'root');
  if (spawnSync('python3', ['--version']).status !== 0) return { unavailable: 'needs python3' };
  if (existsSync(join(kept, 'usr/bin/cloud-init'))) return { root: kept };
  if (spawnSync('apt-get', ['--version']).status !== 0) return { unavailable: 'needs apt-get' };
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const apt = spawnSync('apt-get', ['-qq', 'download', ...PACKAGES], {
      cwd: work,
      encoding: 'utf8',
      timeout: 180_000,
    });
    if (apt.status !== 0) return { unavailable: `cloud-init cannot be had: ${apt.stderr.trim().split('\n').at(-1)}` };
    for (const name of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
      const unpacked = spawnSync('dpkg', ['-x', join(work, name), join(work, 'root')], { encoding: 'utf8' });
      if (unpacked.status !== 0) return { unavailable: unpacked.stderr.trim() };
    }
    renameSync(join(work, 'root'), kept);
    return { root: kept };
  } finally {
    rmSync(work, { recursive: true });
  }
}
