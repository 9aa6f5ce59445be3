import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { debianCloudInit } from '../support/debian-cloud-init.ts';
import { debianPackages } from '../support/debian-packages.ts';
import { needs } from '../support/needs.ts';
import { DRIVE, MANIFEST, MIRROR, WrapBench } from '../support/wrapping.ts';

describe('what machineadm wrap makes, and its consumers', () => {
  let bench: WrapBench;
  before(() => {
    bench = new WrapBench();
  });
  after(() => bench[Symbol.dispose]());
  const lay = (name: string, text: string): string => bench.lay(name, text);
  const wrapped = (...args: readonly string[]) => bench.wrapped(...args);

  const cloudInit = debianCloudInit();
  const noCloudInit = needs(cloudInit);
  for (const format of ['cloud-init', 'cloudbase-init']) {
    test(`${format}: valid by the schema of Debian's cloud-init`, { skip: noCloudInit }, async () => {
      assert.ok('root' in cloudInit);
      const manifest = lay('manifest.json', JSON.stringify(MANIFEST));
      const plain = await wrapped('--format', format);
      const mirror = format === 'cloud-init' ? MIRROR : DRIVE;
      const withDownload = await wrapped('--format', format, ...mirror, '--release-manifest', manifest);
      for (const userData of [plain, withDownload]) {
        const path = lay('user-data', userData);
        const { status, stdout, stderr } = cloudInitSchema(cloudInit.root, path);
        assert.equal(status, 0, stdout + stderr);
        assert.match(stdout, /Valid cloud-config/);
      }
      const wrong = cloudInitSchema(cloudInit.root, lay('wrong', '#cloud-config\nruncmd: {a: 1}\n'));
      assert.notEqual(wrong.status, 0, 'it can tell');
    });
  }

  const libxml = debianPackages('test-xmllint', ['libxml2-utils', 'libxml2', 'libicu72'], 'usr/bin/xmllint');
  test('unattend: what Windows Setup takes, by xmllint', {
    skip: needs(libxml),
  }, async () => {
    assert.ok('root' in libxml);
    const libraries = ['usr/lib/x86_64-linux-gnu', 'usr/lib/aarch64-linux-gnu'].map((path) => join(libxml.root, path));
    const lint = (path: string) =>
      spawnSync(
        join(libxml.root, 'usr/bin/xmllint'),
        ['--noout', '--relaxng', join(import.meta.dirname, '../fixtures/unattend/unattend.rng'), path],
        { encoding: 'utf8', env: { LD_LIBRARY_PATH: libraries.join(':') } },
      );
    const xml = await wrapped('--format', 'unattend');
    const manifest = lay('manifest.json', JSON.stringify(MANIFEST));
    const withDownload = await wrapped('--format', 'unattend', ...DRIVE, '--release-manifest', manifest);
    for (const text of [xml, withDownload]) {
      const checked = lint(lay('unattend.xml', text));
      assert.equal(checked.status, 0, checked.stderr);
    }
    assert.notEqual(lint(lay('wrong.xml', xml.replace('<WillReboot>Never', '<WillReboot>Sometimes'))).status, 0);
    assert.notEqual(lint(lay('long.xml', xml.replace('<Path>', `<Path>${'x'.repeat(259)}`))).status, 0);
  });
});

function cloudInitSchema(root: string, path: string) {
  const paths = ['usr/lib/python3/dist-packages'].map((part) => join(root, part));
  return spawnSync('python3', [join(root, 'usr/bin/cloud-init'), 'schema', '--config-file', path], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH ?? '',
      PYTHONPATH: paths.join(':'),
      LD_LIBRARY_PATH: join(root, 'usr/lib/x86_64-linux-gnu'),
    },
  });
}
