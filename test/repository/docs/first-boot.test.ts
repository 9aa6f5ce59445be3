import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { parse } from 'yaml';
import { load } from '../../support/document.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/first-boot.md');

async function assertValid(document: string): Promise<void> {
  const result = await load(document);
  assert.deepEqual(result.ok ? [] : result.problems.map(formatDiagnostic), []);
}

const ignition: {
  storage: { files: { path: string; contents: { source: string } }[] };
  systemd: { units: { name: string; contents: string }[] };
} = JSON.parse(read('packaging/ignition/config.ign'));

describe('the page about the first boot', () => {
  const shown = [...page.matchAll(/^`(packaging\/[^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm)];

  test('shows the files of packaging/ as they are', () => {
    assert.ok(shown.length >= 7);
    for (const [, path = '', text = ''] of shown) assert.equal(text, read(path), path);
  });

  test('shows each file that a test boots a machine with', () => {
    const paths = new Set(shown.map(([, path]) => path));
    const booted = globSync('packaging/{cloud-init,ignition,systemd}/*', { cwd: ROOT }).filter((path) =>
      /user-data|config\.ign|machineadm-(provision|resume)\.service/.test(path),
    );
    assert.deepEqual(
      booted.filter((path) => !paths.has(path)),
      [],
    );
  });

  test('has a valid document of its own', async () => {
    const own = [...page.matchAll(/^```yaml\n(apiVersion[\s\S]*?)^```$/gm)].map(([, text = '']) => text);
    assert.notEqual(own.length, 0);
    for (const document of own) await assertValid(document);
  });

  test('names reasons that exist', () => {
    const faults = page.slice(page.indexOf('## Faults'));
    const named = [...faults.matchAll(/\| `([A-Z][A-Za-z]+)` \|/g)].map(([, name = '']) => name);
    assert.ok(named.length > 5);
    assert.deepEqual(
      named.filter((name) => !Object.hasOwn(REASONS, name)),
      [],
    );
  });
});

describe('packaging/', () => {
  for (const path of globSync('packaging/cloud-init/user-data*.yaml', { cwd: ROOT })) {
    test(`${path} is a cloud-config with a valid document that only root can read`, async () => {
      const text = read(path);
      assert.match(text, /^#cloud-config\n/);
      const [file] = parse(text).write_files;
      assert.deepEqual(
        [file.path, file.owner, file.permissions],
        ['/etc/machineadm/bootstrap.yaml', 'root:root', '0600'],
      );
      await assertValid(file.content);
    });
  }

  test('the config for Ignition has a valid document, and the unit as it is', async () => {
    const [unit] = ignition.systemd.units;
    assert.equal(unit?.contents, read(`packaging/systemd/${unit?.name}`));
    const file = ignition.storage.files.find(({ path }) => path === '/etc/machineadm/bootstrap.yaml');
    assert.match(file?.contents.source ?? '', /^data:,/);
    await assertValid(decodeURIComponent(file?.contents.source.slice('data:,'.length) ?? ''));
  });

  test("the image's document is valid", () => assertValid(read('packaging/image-builder/base.yaml')));

  test('the role is YAML in all its parts, and its tasks have names', () => {
    const files = globSync('packaging/image-builder/ansible/**/*.yml', { cwd: ROOT });
    assert.ok(files.length >= 6);
    for (const file of files) {
      const content: unknown = parse(read(file));
      if (!file.includes('/tasks/')) continue;
      assert.ok(Array.isArray(content), file);
      for (const task of content) assert.equal(typeof task.name, 'string', file);
    }
  });
});
