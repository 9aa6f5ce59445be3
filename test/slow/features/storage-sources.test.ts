import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { agent } from '../../support/agent.ts';
import { loopDevice } from '../../support/loop-device.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

const DOCUMENT = '/srv/bootstrap.yaml';
const HEAD = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';

const sh = (command: string): string => execFileSync('sh', ['-ec', command], { encoding: 'utf8' });
const mountedAt = (path: string): string => sh(`findmnt -n -r -o SOURCE,FSTYPE,FSROOT -M ${path} || true`).trim();

/** The changes that a run of the document plans or makes, without what follows them. */
async function run(command: 'plan' | 'provision', storage: string): Promise<readonly string[]> {
  writeFileSync(DOCUMENT, `${HEAD}host: {storage: {${storage}}}\n`);
  const { status, stdout, stderr } = await agent([command, '-d', DOCUMENT, '-o', 'json']);
  assert.equal(status, 0, stderr);
  const printed = JSON.parse(stdout);
  const changes: readonly string[] =
    command === 'plan'
      ? printed.changes.map(({ id }: { readonly id: string }) => id)
      : printed.steps.flatMap((step: { readonly changes?: readonly string[] }) => step.changes ?? []);
  return changes.filter((id) => !id.startsWith('follow-up/'));
}

/** A document that provision refuses before any change. */
async function refused(storage: string, reason: string): Promise<void> {
  writeFileSync(DOCUMENT, `${HEAD}host: {storage: {${storage}}}\n`);
  const plan = await agent(['plan', '-d', DOCUMENT]);
  assert.equal(plan.status, 4, plan.stdout);
  assert.match(plan.stdout, new RegExp(reason));
  const { status, stdout } = await agent(['provision', '-d', DOCUMENT, '-o', 'json']);
  assert.equal(status, 4, stdout);
  assert.equal(JSON.parse(stdout).failure.reason, reason);
}

/** Swap is of the whole kernel: these write down what swapon and swapoff were asked, where the kernel would show it. */
function fakeSwap(): void {
  writeFileSync('/tmp/swaps', 'Filename Type Size Used Priority\n');
  sh('mountpoint -q /proc/swaps || mount --bind /tmp/swaps /proc/swaps');
  for (const [name, does] of [
    ['swapon', 'echo "$file file 1 0 -2" >>/tmp/swaps'],
    ['swapoff', 'grep -v "^$file " /tmp/swaps >/tmp/swaps.new || true; cat /tmp/swaps.new >/tmp/swaps'],
  ] as const) {
    writeFileSync(`/usr/local/sbin/${name}`, `#!/bin/sh\nset -e\nfor file; do :; done\n${does}\n`);
    chmodSync(`/usr/local/sbin/${name}`, 0o755);
  }
}

inThrowAwayMachine(import.meta.filename, () => {
  const disk = (path: string): string => `filesystems: [{device: {path: ${path}}, type: ext4, label: ephemeral}],`;
  const BIND = '{source: /ephemeral/containerd, path: /var/lib/containerd, type: bind}';
  const MOUNTS = `mounts: [${BIND}, {source: /ephemeral/kubelet, path: /var/lib/kubelet, type: bind, options: [nodev]},
    {device: {label: ephemeral}, path: /ephemeral}, {path: /srv/memory, type: tmpfs, options: [size=8m, noexec]}]`;

  test('directories of a new disk are bound after it, with a tmpfs; a second run is empty, and a reset undoes it', async () => {
    using loop = loopDevice(48);
    writeFileSync('/etc/fstab', '# theirs\n');
    const document = `${disk(loop.path)} ${MOUNTS}`;
    const ids = ['mounts//ephemeral', 'mounts//srv/memory', 'mounts//var/lib/containerd', 'mounts//var/lib/kubelet'];
    assert.deepEqual(await run('plan', document), [`filesystems/${loop.path}`, ...ids]);
    assert.deepEqual(await run('provision', document), [`filesystems/${loop.path}`, ...ids]);
    for (const name of ['containerd', 'kubelet'])
      assert.equal(mountedAt(`/var/lib/${name}`), `${loop.path}[/${name}] ext4 /${name}`);
    assert.match(sh('findmnt -n -o OPTIONS -M /var/lib/kubelet'), /nodev/);
    assert.doesNotMatch(sh('findmnt -n -o OPTIONS -M /ephemeral'), /nodev/);
    assert.match(sh('findmnt -n -o OPTIONS -M /srv/memory'), /noexec.*size=8192k/);
    const fstab = readFileSync('/etc/fstab', 'utf8');
    assert.match(
      fstab,
      /^\/ephemeral\/kubelet \/var\/lib\/kubelet none bind,nodev,nofail,x-systemd.requires-mounts-for=\/ephemeral\/kubelet,x-systemd.before=containerd.service,x-systemd.before=kubelet.service 0 0$/m,
    );
    assert.deepEqual(await run('provision', document), []);

    // What a boot does: fstab alone, in its order.
    sh('umount /var/lib/kubelet /var/lib/containerd /ephemeral /srv/memory; mount -a');
    assert.equal(mountedAt('/var/lib/containerd'), `${loop.path}[/containerd] ext4 /containerd`);
    assert.deepEqual(await run('plan', document), []);

    sh('touch /ephemeral/containerd/theirs');
    const reset = await agent(['reset', '--yes']);
    assert.equal(reset.status, 0, reset.stderr);
    for (const path of ['/var/lib/kubelet', '/var/lib/containerd', '/ephemeral', '/srv/memory'])
      assert.equal(mountedAt(path), '', path);
    assert.equal(readFileSync('/etc/fstab', 'utf8'), '# theirs\n');
    sh(`mkdir -p /tmp/look; mount ${loop.path} /tmp/look`);
    assert.ok(existsSync('/tmp/look/containerd/theirs'));
    sh('umount /tmp/look');
  });

  test('another option of a bind mount or a tmpfs remounts it, and only it', async () => {
    using loop = loopDevice(48);
    writeFileSync('/etc/fstab', '');
    await run('provision', `${disk(loop.path)} ${MOUNTS}`);
    const changed = MOUNTS.replace('[nodev]', '[nodev, noexec]').replace('size=8m', 'size=16m');
    await run('provision', `${disk(loop.path)} ${changed}`);
    assert.match(sh('findmnt -n -o OPTIONS -M /var/lib/kubelet'), /noexec/);
    assert.doesNotMatch(sh('findmnt -n -o OPTIONS -M /ephemeral'), /noexec/);
    assert.match(sh('findmnt -n -o OPTIONS -M /srv/memory'), /size=16384k/);
    const absent = changed.replace(
      'path: /srv/memory, type: tmpfs, options: [size=16m, noexec]',
      'path: /srv/memory, type: tmpfs, absent: true',
    );
    assert.deepEqual(await run('provision', `${disk(loop.path)} ${absent}`), ['removals/mounts/srv/memory']);
    assert.equal(mountedAt('/srv/memory'), '');
    await agent(['reset', '--yes']);
  });

  test('another directory or file system on the mount point is refused before any change', async () => {
    writeFileSync('/etc/fstab', '');
    sh('mkdir -p /srv/a /srv/b /srv/point; mount --bind /srv/b /srv/point');
    const wanted = 'mounts: [{source: /srv/a, path: /srv/point, type: bind}]';
    await refused(wanted, 'MountConflict');
    assert.equal(readFileSync('/etc/fstab', 'utf8'), '');
    sh('umount /srv/point');
    await run('provision', wanted);
    assert.deepEqual(await run('provision', wanted), []);
    await agent(['reset', '--yes']);
  });

  test('a swap file is created, used at every boot, refused where it does not fit, and removed as it was created', async () => {
    using loop = loopDevice(96);
    writeFileSync('/etc/fstab', '');
    fakeSwap();
    const swap = (more: string): string => `mounts: [{source: /disk/swapfile, type: swap, ${more}}]`;
    sh(`mkfs.ext4 -q ${loop.path}; mkdir -p /disk; mount ${loop.path} /disk`);
    for (const [more, at, reason] of [
      ['size: 1Gi', '/disk/swapfile', 'DiskFull'],
      ['size: 1Mi', '/run/swapfile', 'MountFailed'],
      ['size: 1Mi', '/disk/theirs', 'MountConflict'],
    ] as const) {
      writeFileSync('/disk/theirs', 'data');
      await refused(swap(more).replace('/disk/swapfile', at), reason);
      assert.equal(readFileSync('/disk/theirs', 'utf8'), 'data');
    }
    await run('provision', swap('size: 24Mi'));
    assert.equal(
      sh('stat -c "%a %s %b" /disk/swapfile').trim().split(' ').slice(0, 2).join(' '),
      `600 ${24 * 2 ** 20}`,
    );
    assert.match(sh('blkid -p /disk/swapfile'), /TYPE="swap"/);
    assert.match(readFileSync('/tmp/swaps', 'utf8'), /^\/disk\/swapfile /m);
    assert.match(readFileSync('/etc/fstab', 'utf8'), /^\/disk\/swapfile none swap defaults,nofail,/m);
    assert.deepEqual(await run('provision', swap('size: 24Mi')), []);

    assert.deepEqual(await run('provision', swap('absent: true')), ['removals/swap-files/disk/swapfile']);
    assert.ok(!existsSync('/disk/swapfile'));
    assert.doesNotMatch(readFileSync('/tmp/swaps', 'utf8'), /swapfile/);
    assert.doesNotMatch(readFileSync('/etc/fstab', 'utf8'), /swapfile/);

    await run('provision', swap('size: 24Mi'));
    const reset = await agent(['reset', '--yes']);
    assert.equal(reset.status, 0, reset.stderr);
    assert.ok(!existsSync('/disk/swapfile'));
    assert.doesNotMatch(readFileSync('/tmp/swaps', 'utf8'), /swapfile/);
    sh('umount /disk');
  });
}, ['mkfs.ext4', 'loop devices']);
