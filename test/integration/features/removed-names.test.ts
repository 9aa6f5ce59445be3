import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { agent } from '../../support/agent.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

const DOCUMENT = '/srv/bootstrap.yaml';

/** The line of an account in a file of /etc. */
function lineOf(file: string, name: string): string | undefined {
  return readFileSync(`/etc/${file}`, 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`${name}:`));
}

async function provision(host: string): Promise<readonly string[]> {
  const head = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';
  writeFileSync(DOCUMENT, `${head}host: {${host}}\n`);
  const run = await agent(['provision', '-d', DOCUMENT, '-o', 'json']);
  assert.equal(run.status, 0, run.stderr);
  const steps: readonly { readonly changes?: readonly string[] }[] = JSON.parse(run.stdout).steps;
  return steps.flatMap(({ changes = [] }) => changes);
}

inThrowAwayMachine(import.meta.filename, () => {
  test('users and groups of others are removed, and created again by a reset', async () => {
    const shell = (command: string) => {
      const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    };
    shell(
      'mkdir -p /srv && groupadd --gid 7001 oldgroup && useradd --uid 7002 -G oldgroup -s /bin/sh -c Old -m olduser',
    );
    shell("echo 'olduser:$5$salt$hash' | chpasswd -e && touch /home/olduser/kept");
    const before = ['passwd', 'shadow', 'group'].map((file) => lineOf(file, 'olduser'));
    const group = lineOf('group', 'oldgroup');

    const absent = 'users: [{name: olduser, absent: true}], groups: [{name: oldgroup, absent: true}]';
    assert.deepEqual(await provision(absent), ['removals/users/olduser', 'removals/groups/oldgroup']);
    for (const file of ['passwd', 'shadow', 'group']) assert.equal(lineOf(file, 'olduser'), undefined);
    assert.equal(lineOf('group', 'oldgroup'), undefined);
    assert.ok(existsSync('/home/olduser/kept'));
    assert.deepEqual(await provision(absent), []);

    const reset = await agent(['reset', '--yes']);
    assert.equal(reset.status, 0, reset.stderr);
    assert.equal(lineOf('group', 'oldgroup'), group);
    const [passwd, shadow, own] = ['passwd', 'shadow', 'group'].map((file) => lineOf(file, 'olduser'));
    assert.deepEqual([passwd, own], [before[0], before[2]]);
    assert.equal(shadow?.split(':')[1], '$5$salt$hash');
  });
});
