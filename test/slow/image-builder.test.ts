import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { debianPackages } from '../support/debian-packages.ts';
import { needs } from '../support/needs.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../packaging/image-builder');
const scratch = mkdtempSync(join(tmpdir(), 'machineadm-image-builder-'));
after(() => rmSync(scratch, { recursive: true }));

const environment = { PATH: process.env.PATH, HOME: scratch, LANG: 'C.UTF-8', CHECKPOINT_DISABLE: '1' };

describe('the role for image-builder', () => {
  // Those of its dependencies that a machine with Debian's python3 may lack.
  const ansible = debianPackages(
    'test-ansible',
    [
      ...['ansible-core', 'libyaml-0-2'],
      ...['cffi-backend', 'cryptography', 'jinja2', 'markupsafe', 'packaging', 'resolvelib', 'yaml'].map(
        (name) => `python3-${name}`,
      ),
    ],
    'usr/bin/ansible-playbook',
  );
  const skip = needs(ansible, 'python3');

  function check(directory: string): SpawnSyncReturns<string> {
    const root = 'root' in ansible ? ansible.root : '';
    const libraries = globSync('usr/lib/*-linux-gnu', { cwd: root }).map((path) => join(root, path));
    return spawnSync(
      '/usr/bin/python3',
      [join(root, 'usr/bin/ansible-playbook'), '--syntax-check', '-i', 'localhost,', join(directory, 'playbook.yml')],
      {
        encoding: 'utf8',
        env: {
          ...environment,
          PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
          LD_LIBRARY_PATH: libraries.join(':'),
        },
      },
    );
  }

  test('is what ansible-playbook reads, with the playbook that uses it', { skip }, () => {
    const { status, stdout, stderr } = check(join(EXAMPLES, 'ansible'));
    assert.equal(status, 0, stdout + stderr);
  });

  test('would not pass with a module that is none', { skip }, () => {
    const copy = join(scratch, 'ansible');
    cpSync(join(EXAMPLES, 'ansible'), copy, { recursive: true });
    writeFileSync(join(copy, 'roles/machineadm/tasks/main.yml'), '- name: Wrong\n  ansible.builtin.no_such: {}\n');
    const { status, stderr } = check(copy);
    assert.equal(status, 4, stderr);
    assert.match(stderr, /no_such/);
  });
});

describe('the build for Packer', () => {
  const packer = debianPackages('test-packer', ['packer'], 'usr/bin/packer');
  const skip = needs(packer);

  function packerSays(command: 'validate' | 'fmt', directory: string): SpawnSyncReturns<string> {
    const program = join('root' in packer ? packer.root : '', 'usr/bin/packer');
    const words = command === 'fmt' ? ['-check', '-diff'] : ['-var', 'host=192.0.2.10', '-var', `binary=${program}`];
    return spawnSync(program, [command, ...words, '.'], { cwd: directory, encoding: 'utf8', env: environment });
  }

  test('is what packer takes, in its own format', { skip }, () => {
    for (const command of ['validate', 'fmt'] as const) {
      const { status, stdout, stderr } = packerSays(command, join(EXAMPLES, 'packer'));
      assert.equal(status, 0, stdout + stderr);
    }
  });

  test('would not pass without the script that it runs', { skip }, () => {
    const copy = join(scratch, 'image-builder', 'packer');
    mkdirSync(copy, { recursive: true });
    copyFileSync(join(EXAMPLES, 'base.yaml'), join(copy, '../base.yaml'));
    copyFileSync(join(EXAMPLES, 'packer/machineadm.pkr.hcl'), join(copy, 'machineadm.pkr.hcl'));
    const { status, stdout } = packerSays('validate', copy);
    assert.equal(status, 1);
    assert.match(stdout, /Bad script 'prepare\.sh'/);
  });
});
