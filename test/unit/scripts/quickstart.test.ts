import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { loadDocument, type Model } from '@machineadm/document/index.ts';
import { hostDocument, hostScript, LIGHT_WORK, longDocument } from '../../../scripts/bench/documents.ts';

const quickstart = resolve(import.meta.dirname, '../../../scripts/quickstart');

async function load(name: string, bytes: Uint8Array): Promise<Model> {
  const loaded = await loadDocument([{ name, bytes }], { agentVersion: '0.1.0' });
  assert.deepEqual(loaded.ok ? [] : loaded.problems, []);
  assert.ok(loaded.ok);
  return loaded.document.model;
}

describe('the documents of the quick start', () => {
  for (const file of ['light.yaml', 'failing.yaml', 'lab.yaml']) {
    test(`${file} is valid`, async () => {
      await load(file, readFileSync(join(quickstart, file)));
    });
  }

  for (const file of ['light.yaml', 'failing.yaml']) {
    test(`${file} asks for nothing that reaches out of the throw-away copy`, async () => {
      const model = await load(file, readFileSync(join(quickstart, file)));
      assert.equal(model.host.swap, 'Unmanaged', 'swap is of the whole machine');
      const shared = model.host.sysctl.filter(({ key }) => !key.startsWith('net/'));
      assert.deepEqual(shared, [], 'only net.* belongs to a network namespace');
      // overlay is in the kernel already: the copy is made with it.
      const modules = model.host.kernelModules.filter((name) => name !== 'overlay');
      assert.deepEqual(modules, [], 'a kernel module is loaded for the whole machine');
      assert.equal(model.kubernetes, undefined);
    });
  }
});

describe('the documents of the bench', () => {
  test('are valid; the long one has about 200 lines', async () => {
    await load('long.yaml', new TextEncoder().encode(longDocument()));
    const lines = longDocument().split('\n').length - 1;
    assert.ok(lines >= 190 && lines <= 210, `${lines} lines`);
  });

  test('describe the same work as the shell script they are compared with', async () => {
    const model = await load('host.yaml', new TextEncoder().encode(hostDocument(LIGHT_WORK)));
    const script = hostScript(LIGHT_WORK);
    assert.equal(model.host.files.length, LIGHT_WORK.files);
    for (const { path } of model.host.files) assert.ok(script.includes(`> ${path}\n`), path);
    for (const { key, value } of model.host.sysctl) assert.ok(script.includes(`echo ${value} > /proc/sys/${key}`), key);
  });
});
