import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { RootTree } from '../../../../src/host/local-files/root-tree.ts';

describe('the files of an image', () => {
  const outside = mkdtempSync(join(tmpdir(), 'machineadm-tree-'));
  const root = join(outside, 'image');
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  mkdirSync(join(root, 'etc'));
  writeFileSync(join(outside, 'secret'), 'of the builder');
  writeFileSync(join(root, 'etc/hostname'), 'image\n');
  writeFileSync(join(root, 'usr/bin/run'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('usr/bin', join(root, 'bin'));
  symlinkSync('/etc/hostname', join(root, 'absolute'));
  symlinkSync('../../../../../etc/hostname', join(root, 'etc/above'));
  symlinkSync(join(outside, 'secret'), join(root, 'outside'));
  symlinkSync('../secret', join(root, 'beside'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('/etc', join(root, 'usr/etc'));
  const tree = new RootTree(root);
  after(() => rmSync(outside, { recursive: true, force: true }));

  test('are read through links that stay within it, absolute ones and those above the root', () => {
    assert.equal(tree.readText('/absolute'), 'image\n');
    assert.equal(tree.readText('/etc/above'), 'image\n');
    assert.equal(tree.readText('/usr/etc/hostname'), 'image\n');
    assert.equal(tree.readText('/../../etc/hostname'), 'image\n');
    assert.equal(tree.which('run'), '/usr/bin/run');
    assert.equal(tree.stat('/bin/run')?.path, '/usr/bin/run');
  });

  test('are never those of the machine outside', () => {
    for (const path of ['/outside', '/beside', '/../secret']) assert.equal(tree.readText(path), undefined, path);
  });

  test('that are links in a cycle are an error, and the target of a link can be read', () => {
    assert.equal(tree.stat('/loop'), undefined);
    assert.equal(tree.lstat('/loop')?.type, 'symlink');
    assert.equal(tree.linkTarget('/absolute'), '/etc/hostname');
    assert.equal(tree.stat('/absolute')?.path, '/etc/hostname');
  });

  test('are not opened where they are no regular files', () => {
    execFileSync('mkfifo', [join(root, 'etc/fifo')]);
    assert.equal(tree.readText('/etc/fifo'), undefined);
    assert.equal(tree.readText('/etc'), undefined);
    assert.deepEqual(tree.list('/etc/hostname'), []);
  });

  test('are read in parts, and from /proc, whose files have no size', () => {
    assert.equal(Buffer.from(tree.readRange('/etc/hostname', 2, 3) ?? []).toString(), 'age');
    assert.match(new RootTree('/').readText('/proc/self/mountinfo') ?? '', / - /);
  });

  test('of Windows are found whatever the case of their names', () => {
    assert.equal(tree.readText('/ETC/HostName'), undefined);
    assert.equal(new RootTree(root, true).readText('/ETC/HostName'), 'image\n');
  });
});
