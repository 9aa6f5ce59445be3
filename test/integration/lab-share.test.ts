import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportParts, importParts } from '../../scripts/lab/share.ts';

describe('the build cache of the lab, taken to another machine', () => {
  let work: string;
  const part = (name: string) => join(work, 'from', name);

  before(() => {
    work = mkdtempSync(join(tmpdir(), 'machineadm-share-'));
    mkdirSync(join(part('image-0123456789ab'), 'root/usr/bin'), { recursive: true });
    writeFileSync(join(part('image-0123456789ab'), 'root/usr/bin/kubeadm'), 'program', { mode: 0o755 });
    symlinkSync('usr/bin', join(part('image-0123456789ab'), 'root/bin'));
    mkdirSync(part('images-ba9876543210'));
    writeFileSync(join(part('images-ba9876543210'), 'etcd.tar'), Buffer.alloc(200_000, 'x'));
  });
  after(() => rmSync(work, { recursive: true }));

  const exported = async (name: string): Promise<string> => {
    const file = join(work, name);
    await exportParts([part('image-0123456789ab'), part('images-ba9876543210')], file);
    return file;
  };

  for (const name of ['cache.tar', 'cache.tar.gz']) {
    test(`${name}: all parts are there again, with their modes and links; a second import changes nothing`, async () => {
      const file = await exported(name);
      const to = join(work, `to-${name}`);
      assert.deepEqual(await importParts(to, file), ['image-0123456789ab', 'images-ba9876543210']);
      const program = join(to, 'image-0123456789ab/root/bin/kubeadm');
      assert.equal(readFileSync(program, 'utf8'), 'program');
      assert.equal(lstatSync(program).mode & 0o777, 0o755);
      assert.ok(lstatSync(join(to, 'image-0123456789ab/root/bin')).isSymbolicLink());
      writeFileSync(join(to, 'images-ba9876543210/etcd.tar'), 'mine');
      assert.deepEqual(await importParts(to, file), []);
      assert.equal(
        readFileSync(join(to, 'images-ba9876543210/etcd.tar'), 'utf8'),
        'mine',
        'a part that is there stays',
      );
      assert.deepEqual(readdirSync(to), ['image-0123456789ab', 'images-ba9876543210']);
    });

    test(`${name}: a torn file leaves nothing behind`, async () => {
      const file = await exported(name);
      const torn = join(work, `torn-${name}`);
      const whole = readFileSync(file);
      writeFileSync(torn, whole.subarray(0, Math.floor(whole.length / 2)));
      const to = join(work, `torn-to-${name}`);
      await assert.rejects(importParts(to, torn), /tar .*ended with 2/s);
      assert.deepEqual(readdirSync(to), []);
    });
  }

  test('a file that holds anything else is refused', async () => {
    mkdirSync(part('secrets'));
    const file = join(work, 'foreign.tar');
    await exportParts([part('image-0123456789ab'), part('secrets')], file);
    const to = join(work, 'foreign-to');
    await assert.rejects(importParts(to, file), /holds secrets: it was not made by npm run lab -- export/);
    assert.deepEqual(readdirSync(to), []);
  });

  test('a name without an ending that says the format, and a file that is not there, are refused', async () => {
    await assert.rejects(exportParts([], join(work, 'cache')), /must end with/);
    await assert.rejects(importParts(join(work, 'none'), join(work, 'none.tar')), /there is no such file/);
  });
});
