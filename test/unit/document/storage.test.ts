import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const storage = (text: string, more = ''): string => `host:\n  storage: {${text}}\n${more}`;
const DISK = (text: string): string => storage(`disks: [{device: {path: /dev/sdb}, ${text}}]`);

describe('rules of host.storage', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'two rests',
      DISK('partitions: [{size: Rest}, {size: Rest}]'),
      /disks\[0\]\.partitions: 2 partitions have the size/,
    ],
    ['more than all', DISK('partitions: [{size: 60%}, {size: 50%}]'), /the percentages add up to 110 %/],
    [
      'partitions of a partition',
      storage('disks: [{device: {path: /dev/sdb, partition: 1}, partitions: [{size: Rest}]}]'),
      /device\.partition: a partition cannot contain partitions/,
    ],
    [
      'five partitions of an mbr table',
      DISK('table: mbr, partitions: [{size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}]'),
      /an mbr table has at most four partitions/,
    ],
    ['a label in an mbr table', DISK('table: mbr, partitions: [{size: Rest, label: x}]'), /an mbr table has no labels/],
    [
      'a type GUID in an mbr table',
      DISK('table: mbr, partitions: [{size: Rest, type: 4d21b016-b534-45c2-a9fb-5c16e091fd2d}]'),
      /an mbr table has no type GUIDs/,
    ],
    ['a label that sfdisk cannot be told', DISK(`partitions: [{size: Rest, label: 'a"b'}]`), /without blanks, quotes/],
    [
      'a label that mkfs would cut off',
      storage('filesystems: [{device: {path: /dev/sdb}, type: xfs, label: thirteen-long}]'),
      /filesystems\[0\]\.label: a label of xfs has at most 12 characters/,
    ],
    [
      'one device formatted twice',
      storage(
        'filesystems: [{device: {path: /dev/sdb}, type: xfs}, {device: {timeout: 5s, path: /dev/sdb}, type: ext4}]',
      ),
      /filesystems\[1\]\.device: the same device as host\.storage\.filesystems\[0\]/,
    ],
    [
      'two mounts on one path',
      storage('mounts: [{device: {label: a}, path: /srv}, {device: {label: b}, path: /srv}]'),
      /\/srv is already the path of host\.storage\.mounts\[0\]/,
    ],
    ['a mount without a path', storage('mounts: [{device: {label: a}}]'), /a mount needs a "path"/],
    ['swap with a path', storage('mounts: [{device: {label: a}, type: swap, path: /x}]'), /swap has no mount point/],
    [
      'a mount on the root',
      storage('mounts: [{device: {label: a}, path: /}]'),
      /the root file system is mounted already/,
    ],
    [
      'nothing to mount',
      storage('mounts: [{path: /a}]'),
      /a mount needs a "device" or a "source" \(hint: only type: tmpfs/,
    ],
    [
      'a swap file without a size',
      storage('mounts: [{source: /a, type: swap}]'),
      /mounts\[0\]: a swap file needs a "size" \(hint: for example size: 2Gi\)/,
    ],
    [
      'a bind mount without a type',
      storage('mounts: [{source: /a, path: /b}]'),
      /mounts\[0\]\.source: the type of a mount with a source is bind, nfs, nfs4 or swap/,
    ],
    [
      'a bind mount of a server',
      storage('mounts: [{source: "s:/a", path: /b, type: bind}]'),
      /mounts\[0\]\.source: type: bind needs a path of this machine/,
    ],
    [
      'a bind mount that hides its source',
      storage('mounts: [{source: /srv/a/b/, path: /srv/a, type: bind}]'),
      /mounts\[0\].source: \/srv\/a would hide the source of its own mount/,
    ],
    [
      'two mounts that need each other',
      storage('mounts: [{source: /b/x, path: /a, type: bind}, {source: /a/x, path: /b, type: bind}]'),
      /mounts\[0\]\.source: its source is on a mount that needs this one first, through host\.storage\.mounts\[1\]/,
    ],
    [
      'a swap file that is also a file of the document',
      storage('mounts: [{source: /swap, type: swap, size: 1Gi}]', '  files: [{path: /swap, content: a}]\n'),
      /\/swap/,
    ],
    [
      'a swap file and no swap',
      storage('mounts: [{source: /swap, type: swap, size: 1Gi}]', '  swap: Disabled\n'),
      /switches swap on, contrary to host\.swap \(doc/,
    ],
    [
      'swap on and off',
      storage('mounts: [{device: {label: a}, type: swap}]', '  swap: Disabled\n'),
      /switches swap on, contrary to host\.swap \(doc/,
    ],
  ];
  for (const [name, body, problem] of cases) {
    test(`${name} is a mistake`, async () => {
      const problems = await problemsOf(body);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', problem);
    });
  }

  test('swap is mounted on nothing, and a slash at the end of a path means nothing', async () => {
    const { model } = await loaded(
      storage('mounts: [{device: {label: a}, type: swap}, {device: {label: b}, path: /srv/}]'),
    );
    assert.deepEqual(
      model.host.storage.mounts.map(({ path }) => path),
      ['none', '/srv'],
    );
  });
});

describe('a warning about host.storage is given for', () => {
  const warningsOf = async (body: string): Promise<string[]> => (await loaded(body)).warnings.map(formatDiagnostic);
  const init = (more: string): string => `kubernetes: {version: v1.35.2, role: InitControlPlane, ${more}}\n`;
  const mounted = (path: string): string => storage(`mounts: [{device: {label: etcd}, path: ${path}}]`);

  test("etcd's data on a mount point with lost+found", async () => {
    const [warning, ...more] = await warningsOf(mounted('/var/lib/etcd') + init(''));
    assert.match(warning ?? '', /mounts\[0\]\.path: etcd's data directory is a mount point/);
    assert.deepEqual(more, []);
    const own = init('controlPlane: {etcd: {local: {dataDirectory: /srv/etcd}}}');
    assert.match((await warningsOf(mounted('/srv/etcd/') + own)).join(), /lost\+found/);
    assert.deepEqual(await warningsOf(mounted('/var/lib/etcd') + own), []);
    assert.deepEqual(await warningsOf(mounted('/var/lib/etcd')), [], 'no Kubernetes, no etcd');
    const bound = storage('mounts: [{source: /data/etcd, path: /var/lib/etcd, type: bind}]');
    assert.deepEqual(await warningsOf(bound + init('')), [], 'a directory has no lost+found');
  });

  test('swap under a kubelet that does not start with it', async () => {
    const swap = storage('mounts: [{device: {label: a}, type: swap}]');
    const file = storage('mounts: [{source: /swapfile, type: swap, size: 1Gi}]');
    assert.match((await warningsOf(file + init(''))).join(), /this kubelet does not start with swap/);
    assert.deepEqual(await warningsOf(file + init('node: {kubelet: {config: {failSwapOn: false}}}')), []);
    assert.match((await warningsOf(swap + init(''))).join(), /this kubelet does not start with swap/);
    assert.deepEqual(await warningsOf(swap + init('node: {kubelet: {config: {failSwapOn: false}}}')), []);
    assert.deepEqual(
      await warningsOf(swap + init('node: {kubelet: {args: [{name: fail-swap-on, value: "false"}]}}')),
      [],
    );
  });

  test('a file system that no mount names', async () => {
    const made = 'filesystems: [{device: {path: /dev/sdb}, type: ext4, label: data}]';
    assert.match((await warningsOf(storage(made))).join(), /filesystems\[0\]: no mount of the document names/);
    for (const device of ['{label: data}', '{path: /dev/sdb, timeout: 5s}']) {
      assert.deepEqual(await warningsOf(storage(`${made}, mounts: [{device: ${device}, path: /srv}]`)), []);
    }
  });

  test('a label that is nearly one of the document', async () => {
    const made = 'filesystems: [{device: {path: /dev/sdb}, type: ext4, label: images}]';
    const mount = (label: string) =>
      `mounts: [{device: {path: /dev/sdb}, path: /a}, {device: {label: ${label}}, path: /b}]`;
    assert.match((await warningsOf(storage(`${made}, ${mount('image')}`))).join(), /did you mean "images"/);
    assert.deepEqual(await warningsOf(storage(`${made}, ${mount('kept-from-before')}`)), []);
  });
});
