import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { FileModel } from '@machineadm/document/model/index.ts';
import type { SecretSource } from '@machineadm/document/secrets/secret.ts';
import { files } from '../../../../src/features/files/index.ts';
import { appended } from '../../../../src/owned-files/content.ts';
import { fileModel, hostModel, userModel } from '../../../support/host-model.ts';
import { memoryHost, queryOnly } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

describe('a file that is appended to', () => {
  for (const [present, content, after] of [
    ['', 'a\n', 'a\n'],
    ['x\n', 'a\n', 'x\na\n'],
    ['x', 'a\n', 'x\na\n'],
    ['x\na\n', 'a\n', 'x\na\n'],
    ['x\na\ny\n', 'a\n', 'x\na\ny\n'],
    ['x\na', 'a', 'x\na'],
    ['xa\n', 'a\n', 'xa\na\n'],
    ['ab\n', 'a', 'ab\na'],
    ['x\n', '', 'x\n'],
  ] as const) {
    test(`${JSON.stringify(present)} and ${JSON.stringify(content)} make ${JSON.stringify(after)}`, () => {
      assert.equal(text(appended(bytes(present), bytes(content))), after);
      assert.equal(text(appended(bytes(after), bytes(content))), after, 'and no more the next time');
    });
  }

  test('is appended to once, however often it runs and whatever others add behind it', async () => {
    const host = memoryHost({ files: { '/etc/hosts': '127.0.0.1 localhost\n' } });
    const model = hostModel({ files: [fileModel('/etc/hosts', '10.0.0.1 api\n', { append: true })] });
    assert.deepEqual((await runStep(files, host, model)).left, []);
    assert.equal(host.text('/etc/hosts'), '127.0.0.1 localhost\n10.0.0.1 api\n');
    host.put('/etc/hosts', '127.0.0.1 localhost\n10.0.0.1 api\n10.0.0.2 other\n');
    assert.deepEqual((await runStep(files, host, model)).changes, []);
  });

  test('keeps its mode and owner where the document names none', async () => {
    const host = memoryHost({ files: { '/etc/sudoers': { content: 'root ALL\n', mode: 0o440, uid: 0, gid: 7 } } });
    const keeps = { append: true, keepsMode: true, keepsOwner: true };
    const run = await runStep(files, host, hostModel({ files: [fileModel('/etc/sudoers', 'a ALL\n', keeps)] }));
    assert.deepEqual(run.left, []);
    const stat = await host.stat('/etc/sudoers');
    assert.deepEqual([stat?.mode, stat?.uid, stat?.gid], [0o440, 0, 7]);
  });

  test('shows in the plan what it adds', async () => {
    const host = memoryHost({ files: { '/etc/hosts': 'a\n' } });
    const [change] = await planned(
      files,
      host,
      hostModel({ files: [fileModel('/etc/hosts', 'b\n', { append: true })] }),
    );
    assert.match(change?.summary ?? '', /append 2 bytes of the document/);
    assert.match(change?.diff ?? '', /\+b/);
  });
});

describe('a file that is downloaded', () => {
  const url = 'https://files.example/tool?signature=sixteen-letters';
  const download = (body: string, different: Partial<Extract<FileModel['content'], { kind: 'http' }>> = {}) =>
    fileModel('/opt/tool', { kind: 'http', url, sha256: sha256(body), headers: {}, ...different }, { mode: 0o755 });

  test('is fetched by the run and not by the plan, which knows its digest', async () => {
    const host = memoryHost({ http: () => ({ body: 'the tool' }) });
    const model = hostModel({ files: [download('the tool')] });
    const [change] = await planned(files, queryOnly(host), model);
    assert.equal(change?.knownAfter, undefined);
    assert.equal(host.log.length, 0);
    assert.deepEqual((await runStep(files, host, model)).left, []);
    assert.equal(host.text('/opt/tool'), 'the tool');
    assert.deepEqual((await runStep(files, host, model)).changes, []);
    assert.equal(host.log.filter((entry) => entry.startsWith('http ')).length, 1);
  });

  test('is named without the query of its URL, which may be a token', async () => {
    const [change] = await planned(files, memoryHost(), hostModel({ files: [download('x')] }));
    assert.match(change?.summary ?? '', /https:\/\/files\.example\/tool$/);
  });

  test('of another digest than asked for replaces nothing: DownloadFailed', async () => {
    const host = memoryHost({ files: { '/opt/tool': 'old' }, http: () => ({ body: 'another' }) });
    await assert.rejects(runStep(files, host, hostModel({ files: [download('the tool')] })), {
      reason: 'DownloadFailed',
      message: /SHA-256/,
    });
    assert.equal(host.text('/opt/tool'), 'old');
  });

  test('that the server does not have: DownloadFailed', async () => {
    const host = memoryHost({ http: () => ({ status: 404 }) });
    await assert.rejects(runStep(files, host, hostModel({ files: [download('x')] })), {
      reason: 'DownloadFailed',
      message: /HTTP 404/,
    });
  });

  test('is asked for again when the server is busy', async () => {
    let asked = 0;
    const http = () => {
      asked += 1;
      return { status: asked < 3 ? 503 : 200, body: 'the tool' };
    };
    const host = memoryHost({ http });
    assert.deepEqual((await runStep(files, host, hostModel({ files: [download('the tool')] }))).left, []);
    assert.equal(asked, 3);
  });

  test('with headers that are secrets belongs to the node, without to the image', async () => {
    const plain = download('x', { url: 'https://files.example/tool' });
    const token = { name: 'secrets.token', source: { kind: 'env', variable: 'TOKEN' } as const };
    const headers = { authorization: token };
    const withToken = download('x', { url: 'https://files.example/tool', headers });
    const scope = async (one: FileModel) => (await planned(files, memoryHost(), hostModel({ files: [one] })))[0]?.scope;
    assert.equal(await scope(plain), 'base');
    assert.equal(await scope(withToken), 'node');
  });
});

describe('a file with a secret that has effects to find out', () => {
  const source: SecretSource = { kind: 'exec', command: ['fetch-token'], timeoutMs: 1000 };
  const model = hostModel({
    files: [fileModel('/etc/token', { kind: 'secret', secret: { name: 'secrets.token', source } }, { mode: 0o600 })],
  });

  test('is planned as known after the secrets, whether it is there or not', async () => {
    for (const there of [{}, { '/etc/token': { content: 'old', mode: 0o600 } }]) {
      const host = memoryHost({ files: there, secrets: { 'secrets.token': 'value' } });
      const [change] = await planned(files, queryOnly(host), model);
      assert.equal(change?.knownAfter, 'secrets');
      assert.equal(host.log.length, 0);
    }
  });

  test('is compared by a run, and written once', async () => {
    const host = memoryHost({ secrets: { 'secrets.token': 'value' } });
    assert.equal((await runStep(files, host, model)).changes.length, 1);
    assert.deepEqual((await runStep(files, host, model)).changes, []);
    assert.equal(host.text('/etc/token'), 'value');
  });
});

describe('an owner that the document itself makes', () => {
  const app = userModel({ name: 'app' });
  const owned = fileModel('/etc/app', 'x', { user: 'app', group: 'app' });

  test('is no obstacle, and known after the users', async () => {
    const model = hostModel({ users: [app], files: [owned] });
    const desired = files.desired(model, (await import('../../../support/facts.ts')).facts());
    assert.ok(desired !== undefined);
    assert.deepEqual(await files.preflight?.(memoryHost(), desired), []);
    const [change] = await planned(files, memoryHost(), model);
    assert.equal(change?.knownAfter, 'users');
  });

  test('does not excuse a group that nobody makes', async () => {
    const other = { ...app, primaryGroup: 'staff' };
    await assert.rejects(runStep(files, memoryHost(), hostModel({ users: [other], files: [owned] })), {
      reason: 'FileOwnerUnknown',
      message: /the group app/,
    });
  });

  test('that is still missing when the file is written is reported: FileOwnerUnknown', async () => {
    await assert.rejects(runStep(files, memoryHost(), hostModel({ users: [app], files: [owned] })), {
      reason: 'FileOwnerUnknown',
    });
  });
});
