import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { debianPackages, type Unpacked } from './debian-packages.ts';

/** ansible-core of this Debian, with those of its dependencies that a machine with Debian's python3 may lack. */
export function ansibleCore(): Unpacked {
  const modules = ['cffi-backend', 'cryptography', 'jinja2', 'markupsafe', 'packaging', 'resolvelib', 'yaml'];
  const packages = ['ansible-core', 'libyaml-0-2', ...modules.map((name) => `python3-${name}`)];
  return debianPackages('test-ansible', packages, 'usr/bin/ansible-playbook');
}

/** Runs ansible-playbook of `ansibleCore` with a home of its own. */
export function ansiblePlaybook(home: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  const found = ansibleCore();
  const root = 'root' in found ? found.root : '';
  const libraries = globSync('usr/lib/*-linux-gnu', { cwd: root }).map((path) => join(root, path));
  return spawnSync('/usr/bin/python3', [join(root, 'usr/bin/ansible-playbook'), ...args], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      LANG: 'C.UTF-8',
      PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
      LD_LIBRARY_PATH: libraries.join(':'),
    },
  });
}
