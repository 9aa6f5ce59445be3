import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mountOrder } from '@machineadm/document/host-parts/mount-order.ts';
import type { DeviceMount, MountModel } from '@machineadm/document/model/index.ts';
import { entryLine, type FstabEntry, foreignSources, ownEntry, withEntry } from '../../../src/block-devices/fstab.ts';
import { fstabOptions, missingOptions } from '../../../src/block-devices/mount-options.ts';

const entry: FstabEntry = {
  source: 'UUID=1234',
  path: '/srv/a b',
  type: 'ext4',
  options: ['noatime', 'nofail'],
  pass: 2,
};

describe('fstab', () => {
  test('gets an entry at its end, after a line that names machineadm', () => {
    assert.equal(
      withEntry('/dev/sda / ext4 defaults 0 1', '/srv/a b', entry),
      '/dev/sda / ext4 defaults 0 1\n# Written by machineadm: /srv/a b\nUUID=1234 /srv/a\\040b ext4 noatime,nofail 0 2\n',
    );
    assert.equal(withEntry('', '/x', entry).split('\n').length, 3);
  });

  test('keeps every other line byte for byte when an entry changes', () => {
    const others = ['# \t by hand  ', '', '//srv/share\t/mnt cifs password=x 0 0'];
    const text = withEntry(`${others.join('\n')}\n`, '/srv/a b', entry).concat('LABEL=z /z xfs ro 0 0');
    const changed = withEntry(text, '/srv/a b', { ...entry, source: 'UUID=5678' });
    assert.equal(changed, text.replace('1234', '5678'));
    assert.equal(ownEntry(changed, '/srv/a b'), entryLine({ ...entry, source: 'UUID=5678' }));
    assert.equal(withEntry(changed, '/srv/a b', { ...entry, source: 'UUID=5678' }), changed);
    assert.equal(ownEntry(changed, '/other'), undefined);
  });

  test('tells the entries of others for a mount point from our own', () => {
    const text = withEntry('#/dev/old /srv/a\\040b ext4\n/dev/sdz\t/srv/a\\040b\text4\n', '/srv/a b', entry);
    assert.deepEqual(foreignSources(text, '/srv/a b'), ['/dev/sdz']);
    assert.deepEqual(foreignSources(text, '/srv'), []);
  });

  test('keeps the line of another that follows a marker without its entry, and ends with a line break', () => {
    const ours = withEntry('', '/srv/a b', entry);
    const marker = ours.split('\n')[0] ?? '';
    const others = 'LABEL=z /z xfs ro 0 0\n';
    assert.equal(ownEntry(`${marker}\n${others}`, '/srv/a b'), undefined);
    assert.equal(withEntry(`${marker}\n${others}`, '/srv/a b', entry), `${ours}${others}`);
    assert.equal(withEntry(`${marker}\n`, '/srv/a b', entry), ours);
    const swap = { ...entry, path: 'none', type: 'swap' };
    assert.equal(withEntry(withEntry('', 'swap on x', swap), 'swap on x', swap), withEntry('', 'swap on x', swap));
  });

  test('cannot be given a second line by a name', () => {
    const lines = withEntry('', 'swap on serial a\nb', { ...entry, path: '/a\nb' }).split('\n');
    assert.equal(lines.length, 3);
    assert.match(lines[1] ?? '', / \/a\\012b /);
  });
});

describe('options', () => {
  test('for later boots are added to those of the document, which win', () => {
    assert.deepEqual(fstabOptions({ ...device('none'), type: 'swap' }), [
      'defaults',
      'nofail',
      'x-systemd.device-timeout=90s',
    ]);
    assert.deepEqual(fstabOptions({ ...device('/srv'), options: ['ro', 'x-systemd.device-timeout=5s', 'nofail'] }), [
      'ro',
      'x-systemd.device-timeout=5s',
      'nofail',
      'x-systemd.before=containerd.service',
      'x-systemd.before=kubelet.service',
    ]);
  });

  test('of what is not a device wait for what it needs', () => {
    const before = ['x-systemd.before=containerd.service', 'x-systemd.before=kubelet.service'];
    for (const [mount, expected] of [
      [
        { type: 'bind', source: '/data/k', options: ['ro'] },
        ['bind', 'ro', 'nofail', 'x-systemd.requires-mounts-for=/data/k'],
      ],
      [{ type: 'bind', source: '/data/a,b', options: [] }, ['bind', 'nofail']],
      [{ type: 'tmpfs', source: 'tmpfs', options: ['size=1g'] }, ['size=1g', 'nofail']],
      [{ type: 'tmpfs', source: 'tmpfs', options: [] }, ['defaults', 'nofail']],
      [{ type: 'nfs', source: 's:/x', options: ['ro'] }, ['ro', 'nofail', '_netdev', 'x-systemd.mount-timeout=90s']],
    ] as const)
      assert.deepEqual(fstabOptions({ ...mount, path: '/x' }), [...expected, ...before]);
    const swap = { type: 'swap', source: '/swapfile', path: 'none', options: [] } as const;
    assert.deepEqual(fstabOptions(swap), ['defaults', 'nofail', 'x-systemd.requires-mounts-for=/swapfile']);
  });

  test('include the size of a tmpfs, in whatever unit', () => {
    const present = ['rw', 'size=1048576k'];
    for (const same of ['size=1g', 'size=1024M', 'size=1073741824', 'size=50%', 'size=1048574k'])
      assert.deepEqual(missingOptions([same], present), [], same);
    assert.deepEqual(missingOptions(['size=2g'], present), ['size=2g']);
    assert.deepEqual(missingOptions(['size=2g'], ['rw']), ['size=2g']);
  });

  test('that the kernel shows as they are given are compared', () => {
    assert.deepEqual(missingOptions(['ro', 'noatime', 'prjquota', 'nofail'], ['rw', 'noatime', 'pquota']), ['ro']);
  });
});

const device = (path: string): DeviceMount => ({
  device: { by: { kind: 'label', label: path }, partition: undefined, waitMs: 0 },
  path,
  type: undefined,
  options: [],
});

describe('the order of mounts', () => {
  const pathsOf = (mounts: readonly MountModel[]) => mountOrder(mounts).order.map(({ path }) => path);

  test('is by depth, then as the document has them; swap last', () => {
    const ordered = pathsOf(['none', '/a/b/c', '/z', '/a/b', '/y', 'none'].map(device));
    assert.deepEqual(ordered, ['/z', '/y', '/a/b', '/a/b/c', 'none', 'none']);
  });

  test('has a directory or a swap file after the mount that it is on, however deep that is', () => {
    const bind = (source: string, path: string): MountModel => ({ source, path, type: 'bind', options: [] });
    const swap: MountModel = { source: '/mnt/a/b/swap', path: 'none', type: 'swap', options: [], sizeBytes: 0 };
    const mounts = [bind('/mnt/a/b/kubelet', '/k'), swap, bind('/k/x', '/c'), device('/mnt/a/b')];
    assert.deepEqual(pathsOf(mounts), ['/mnt/a/b', '/k', '/c', 'none']);
  });

  test('does not exist where two need each other', () => {
    const bind = (source: string, path: string): MountModel => ({ source, path, type: 'bind', options: [] });
    const { circle } = mountOrder([bind('/b/x', '/a'), bind('/a/x', '/b'), device('/z')]);
    assert.deepEqual(
      circle.map(({ path }) => path),
      ['/a', '/b'],
    );
  });
});
