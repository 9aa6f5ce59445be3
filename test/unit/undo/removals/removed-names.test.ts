import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { removals } from '../../../../src/pipeline/pipeline.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { lifetime, summaries } from '../../../support/lifetime.ts';
import type { MemoryHost, MemoryMachine } from '../../../support/memory-host.ts';
import { wholeMachine } from '../../../support/whole-machine.ts';

/** What a preflight finds, and with nothing in the way a run, a plan of a second one, and the machine after it. */
async function removed(host: string, machine: Omit<MemoryMachine, 'users' | 'groups'> = {}) {
  const body = `host: {${host}}\n`;
  const there = wholeMachine(machine);
  const { model } = await loaded(body);
  const life = lifetime(there);
  return {
    host: there,
    refused: ((await removals.preflight?.(there, { model, osId: 'debian', managesServices: true })) ?? []).map(
      ({ reason, what }) => `${reason} ${what}`,
    ),
    planned: async () => summaries(await life.plan(body)),
    run: async (): Promise<MemoryHost> => {
      await life.run(body);
      assert.deepEqual(await life.plan(body), [], 'a second run has nothing to do');
      return there;
    },
  };
}

const RULE = { '/etc/sudoers.d/90-machineadm-ada': 'ada ALL=(ALL) ALL\n' };

describe('a user that is to be absent', () => {
  test('is removed with the rules of sudo that machineadm wrote, and keeps the home', async () => {
    const { host, planned, run } = await removed('users: [{name: ada, absent: true}]', { files: RULE });
    assert.deepEqual(await planned(), ['remove the user ada; /home/ada stays']);
    await run();
    assert.doesNotMatch(host.text('/etc/passwd') ?? '', /^ada:/m);
    assert.equal(host.text('/etc/sudoers.d/90-machineadm-ada'), undefined);
    assert.equal((await host.stat('/home/ada'))?.type, 'directory');
  });

  test('that is not there leaves nothing to do but the rules of sudo', async () => {
    const nobody = 'users: [{name: nobody-here, absent: true}]';
    assert.deepEqual(await (await removed(nobody)).planned(), []);
    const path = '/etc/sudoers.d/90-machineadm-nobody-here';
    const { host, planned, run } = await removed(nobody, { files: { [path]: 'x' } });
    assert.deepEqual(await planned(), [`remove ${path}`]);
    await run();
    assert.equal(host.text(path), undefined);
  });

  test('stays with the id 0, where it comes from a directory, and without userdel', async () => {
    assert.deepEqual((await removed('users: [{name: root, absent: true}]')).refused, [
      'RemovalRefused the user root is not removed: it has the id 0',
    ]);
    const { host } = await removed('users: [{name: chrony, absent: true}]');
    const { model } = await loaded('host: {users: [{name: chrony, absent: true}]}');
    const passwd = (host.text('/etc/passwd') ?? '').replace(/^chrony:.*\n/m, '');
    host.put('/etc/passwd', passwd);
    const found = await removals.preflight?.(
      { ...host, which: async () => undefined },
      { model, osId: 'debian', managesServices: true },
    );
    assert.match(found?.[0]?.what ?? '', /chrony is not removed: it comes from a directory/);
    const ada = (await loaded('host: {users: [{name: ada, absent: true}]}')).model;
    const tools = await removals.preflight?.(
      { ...host, which: async () => undefined },
      { model: ada, osId: 'debian', managesServices: true },
    );
    assert.deepEqual(
      tools?.map(({ reason, what }) => `${reason} ${what}`),
      ['AccountToolMissing userdel is not installed'],
    );
  });

  test('is refused where the document names it otherwise', async () => {
    const twice = await problemsOf('host: {users: [{name: ada, absent: true, shell: /bin/sh}]}');
    assert.match(twice.join('\n'), /shell: describes what must exist, but absent: true removes it/);
    const owner = await problemsOf(
      'host: {users: [{name: ada, absent: true}], directories: [{path: /srv/x, owner: ada}], files: [{path: /etc/x, content: "", owner: "ada:users"}]}',
    );
    assert.match(
      owner.join('\n'),
      /files\[0\]\.owner: the user ada is named here, and removed by host\.users\[0\]\.name/,
    );
    assert.match(owner.join('\n'), /directories\[0\]\.owner: the user ada is named here/);
  });
});

describe('a group that is to be absent', () => {
  test('is removed after the users that it is the primary group of', async () => {
    const { host, planned, run } = await removed(
      'groups: [{name: chrony, absent: true}], users: [{name: chrony, absent: true}]',
    );
    const [first, second] = await planned();
    assert.match(first ?? '', /^remove the user chrony/);
    assert.equal(second, 'remove the group chrony');
    await run();
    assert.doesNotMatch(host.text('/etc/group') ?? '', /^chrony:/m);
  });

  test('stays as the primary group of a user, with the id 0, or where the document names it', async () => {
    assert.deepEqual((await removed('groups: [{name: chrony, absent: true}]')).refused, [
      'RemovalRefused the group chrony is not removed: it is the primary group of chrony',
    ]);
    assert.match((await removed('groups: [{name: root, absent: true}]')).refused.join(), /it has the id 0/);
    assert.deepEqual(await (await removed('groups: [{name: none-here, absent: true}]')).planned(), []);
    const member = await problemsOf(
      'host: {groups: [{name: wheel, absent: true}], users: [{name: ada, groups: [wheel]}]}',
    );
    assert.match(
      member.join('\n'),
      /users\[0\]: the group wheel is named here, and removed by host\.groups\[0\]\.name/,
    );
  });
});

describe('a service that is to be absent', () => {
  test('is stopped, disabled, and removed with its drop-ins', async () => {
    const { host, planned, run } = await removed('services: [{name: legacy, absent: true}]');
    const unit = '/etc/systemd/system/legacy.service';
    assert.deepEqual(await planned(), [
      `stop and disable legacy, remove ${unit}, ${unit}.d/10-theirs.conf`,
      'reload the units of the service manager',
    ]);
    await run();
    const acts = host.log.filter((line) => /legacy|reload/.test(line));
    assert.deepEqual(acts.slice(0, 2), ['service stop legacy.service', 'service disable legacy.service']);
    assert.ok(acts.includes(`remove ${unit}`) && acts.at(-1) === 'service reload', acts.join());
    assert.equal(await host.stat(`${unit}.d`), undefined);
  });

  test('stays where a package brings its unit, where it is masked, and where a section needs it', async () => {
    const vendor = { files: { '/usr/lib/systemd/system/legacy.service': '[Service]\n' } };
    assert.deepEqual((await removed('services: [{name: legacy, absent: true}]', vendor)).refused, [
      'RemovalRefused the service legacy is not removed: /usr/lib/systemd/system/legacy.service is its unit, which a package or a generator brings',
    ]);
    const masked = {
      files: { '/etc/systemd/system/gone.service': { type: 'symlink' as const, content: '/dev/null' } },
    };
    assert.match(
      (await removed('services: [{name: gone, absent: true}]', masked)).refused.join(),
      /gone\.service is a symlink/,
    );
    assert.deepEqual(await (await removed('services: [{name: none-here, absent: true}]')).planned(), []);
    const needed = await problemsOf(
      'host: {services: [{name: containerd.service, absent: true}]}\ncontainerRuntime: {containerd: {}}',
    );
    assert.match(needed.join('\n'), /containerd\.service must run for containerRuntime\.containerd/);
    const laid = await problemsOf(
      'host: {services: [{name: agent, absent: true}], files: [{path: /etc/systemd/system/agent.service, content: ""}]}',
    );
    assert.match(laid.join('\n'), /agent\.service is already managed by host\.services\[0\]\.name/);
    const more = await problemsOf('host: {services: [{name: agent, absent: true, masked: true}]}');
    assert.match(more.join('\n'), /masked: describes what must exist/);
  });
});

describe('a mount that is to be absent', () => {
  const MOUNT = 'storage: {mounts: [{device: {path: /dev/vdc}, path: /mnt/old, absent: true}]}';
  const entry = '# Written by machineadm: /mnt/old\n/dev/vdc /mnt/old ext4 nofail 0 2\n';
  const root = '/dev/vda1 / ext4 defaults 0 1\n';

  test('is unmounted and forgotten at boot, and what others wrote stays', async () => {
    const { host, planned, run } = await removed(MOUNT, { files: { '/etc/fstab': `${root}${entry}# theirs\n` } });
    assert.deepEqual(await planned(), [
      'unmount /mnt/old and remove it from /etc/fstab',
      'reload the units of the service manager',
    ]);
    await run();
    assert.equal(host.text('/etc/fstab'), `${root}# theirs\n`);
    assert.doesNotMatch(host.text('/proc/self/mountinfo') ?? '', /\/mnt\/old/);
    assert.ok(host.log.includes('service reload'));
  });

  test('that is not mounted is only taken out of fstab', async () => {
    const unmounted = { '/proc/self/mountinfo': '22 1 254:1 / / rw - ext4 /dev/vda1 rw\n' };
    const { host, planned, run } = await removed(MOUNT, { files: { ...unmounted, '/etc/fstab': entry } });
    assert.deepEqual(await planned(), ['remove it from /etc/fstab', 'reload the units of the service manager']);
    await run();
    assert.equal(host.text('/etc/fstab'), '');
    assert.deepEqual(await (await removed(MOUNT, { files: unmounted })).planned(), []);
  });

  test('stays where others have it in fstab, another device is there, or something is mounted below', async () => {
    const others = { '/etc/fstab': '/dev/vdc /mnt/old ext4 defaults 0 2\n' };
    assert.match(
      (await removed(MOUNT, { files: others })).refused.join(),
      /fstab has an entry of others for it, \/dev\/vdc/,
    );
    assert.match((await removed(MOUNT.replace('vdc', 'vdb'))).refused.join(), /\/dev\/vdc is mounted there/);
    const below = '31 30 0:9 / /mnt/old/deep rw - tmpfs tmpfs rw\n';
    const { host } = await removed(MOUNT);
    const mountinfo = { '/proc/self/mountinfo': `${host.text('/proc/self/mountinfo')}${below}` };
    assert.match((await removed(MOUNT, { files: mountinfo })).refused.join(), /\/mnt\/old\/deep is mounted below it/);
    const system = await problemsOf(`host: {${MOUNT.replace('/mnt/old', '/var')}}`);
    assert.match(system.join('\n'), /\/var is part of the system and never unmounted/);
    const more = await problemsOf(`host: {${MOUNT.replace('absent: true', 'absent: true, options: [ro]')}}`);
    assert.match(more.join('\n'), /options: describes what must exist/);
  });

  test('that is busy fails the run with what umount says', async () => {
    const busy = { programs: { umount: () => ({ status: 32, stderr: 'umount: /mnt/old: target is busy.\n' }) } };
    const { run } = await removed(MOUNT, busy);
    await assert.rejects(
      run(),
      ({ cause }: { readonly cause: { readonly reason: string; readonly evidence: readonly unknown[] } }) => {
        assert.equal(cause.reason, 'MountFailed');
        assert.deepEqual(cause.evidence, [{ source: 'umount', text: 'umount: /mnt/old: target is busy.' }]);
        return true;
      },
    );
  });
});
