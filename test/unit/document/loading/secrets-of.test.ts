import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\n';

async function load(text: string) {
  const bytes = new TextEncoder().encode(HEADER + text);
  return await loadDocument([{ name: 'doc.yaml', bytes }], { agentVersion: '0.1.0' });
}

describe('the secrets of a document', () => {
  test('are all that a field uses or that stand under "secrets", each once', async () => {
    const result = await load(`
secrets:
  used: {file: /run/secrets/used}
  header: {env: BEARER}
  unused: {value: nobody-uses-me}
host:
  proxy: {https: 'http://user:word@proxy.example:3128'}
  files:
    - {path: /a, contentFrom: {secret: used}}
    - {path: /b, contentFrom: {secret: used}}
    - path: /c
      contentFrom:
        http: {url: 'https://x.example/c', sha256: '${'0'.repeat(64)}', headers: {authorization: {secret: header}}}
`);
    assert.ok(result.ok, JSON.stringify(result));
    const names = documentSecrets(result.document).map(({ name }) => name);
    assert.deepEqual(names.sort(), ['host.proxy.https', 'secrets.header', 'secrets.unused', 'secrets.used']);
  });

  test('of a document without any are none', async () => {
    const result = await load('host: {}\n');
    assert.ok(result.ok);
    assert.deepEqual(documentSecrets(result.document), []);
  });
});

describe('a file that appends', () => {
  test('keeps mode and owner where none are named, but never a secret in a file that others read', async () => {
    const result = await load(`
secrets: {s: {value: sixteen-letters!}}
host:
  files:
    - {path: /a, content: x, append: true}
    - {path: /b, content: x, append: true, mode: '0600', owner: root}
    - {path: /c, contentFrom: {secret: s}, append: true}
    - {path: /d, content: x}
`);
    assert.ok(result.ok);
    assert.deepEqual(
      result.document.model.host.files.map(({ append, mode, keepsMode, keepsOwner }) => [
        append,
        mode,
        keepsMode,
        keepsOwner,
      ]),
      [
        [true, 0o644, true, true],
        [true, 0o600, false, false],
        [true, 0o600, false, true],
        [false, 0o644, false, false],
      ],
    );
  });

  test('cannot be downloaded at the same time', async () => {
    const http = `{url: 'https://x.example/c', sha256: '${'0'.repeat(64)}'}`;
    const result = await load(`host: {files: [{path: /a, append: true, contentFrom: {http: ${http}}}]}\n`);
    assert.ok(!result.ok);
    assert.deepEqual(
      result.problems.map(({ path, message }) => [path, message]),
      [['host.files[0].append', 'what is downloaded cannot be appended']],
    );
  });
});
