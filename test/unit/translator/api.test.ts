import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Api, ApiError, connect, isStatus, type WatchEvent } from '@machineadm/translator/cluster/api.ts';
import { stringify } from 'yaml';
import { startServer, type TestServer } from '../../support/http-servers.ts';

describe('the client of the API server', () => {
  let directory = '';
  let server: TestServer;
  let api: Api;
  let heard: readonly unknown[] = [];

  const kubeconfig = (cluster: object): string => {
    const path = join(directory, 'kubeconfig');
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const users = [{ name: 'u', user: { token: 'the-token' } }];
    writeFileSync(path, stringify({ 'current-context': 'c', clusters: [{ name: 'c', cluster }], contexts, users }));
    return path;
  };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-api-'));
    server = await startServer(({ method, url, headers }, body) => {
      heard = [method, url, headers.accept, headers['content-type'], headers.authorization, body];
      if (url?.startsWith('/watch'))
        return {
          body: `${JSON.stringify({ type: 'ADDED', object: { a: 1 } })}\n${JSON.stringify({ type: 'BOOKMARK', object: {} })}\n`,
        };
      if (url === '/missing')
        return { status: 404, body: JSON.stringify({ kind: 'Status', message: 'it is not there' }) };
      if (url === '/ill') return { status: 500, body: 'oh' };
      if (url === '/moved') return { status: 300, body: '{}' };
      if (url === '/silent') return 'silence';
      return { status: url === '/created' ? 201 : 200, body: url === '/empty' ? '' : '{"x":1}' };
    });
    api = connect(
      kubeconfig({
        server: server.url,
        'certificate-authority-data': btoa('the authority'),
        'insecure-skip-tls-verify': true,
      }),
    );
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  test('asks with the credential of the kubeconfig, for JSON, and gives the parsed answer', async () => {
    assert.deepEqual(await api.request({ path: '/x', query: { fieldManager: 'me' } }), { x: 1 });
    assert.deepEqual(heard, ['GET', '/x?fieldManager=me', 'application/json', undefined, 'Bearer the-token', '']);
    assert.equal(await api.request({ path: '/empty' }), undefined);
    assert.deepEqual(await api.request({ path: '/created', method: 'POST', body: { b: 2 } }), { x: 1 });
    assert.deepEqual(heard.slice(0, 4), ['POST', '/created', 'application/json', 'application/json']);
    assert.equal(heard[5], '{"b":2}');
    const contentType = 'application/json-patch+json';
    await api.request({ path: '/x', method: 'PATCH', body: [], contentType });
    assert.deepEqual([heard[0], heard[3]], ['PATCH', contentType]);
    assert.equal(api.certificateAuthority, 'the authority');
  });

  test('knows no authority where the kubeconfig names none, and refuses one without a cluster', () => {
    assert.equal(connect(kubeconfig({ server: server.url })).certificateAuthority, undefined);
    const path = join(directory, 'empty');
    writeFileSync(path, stringify({ clusters: [], contexts: [], users: [] }));
    assert.throws(() => connect(path), { message: 'the kubeconfig has no current cluster' });
  });

  test('an answer that is not 2xx is an error with its status and the message of the server, not with the request', async () => {
    const failed = (path: string) =>
      api.request({ path, method: 'PUT', body: { secret: 's' } }).then(
        () => assert.fail('it worked'),
        (error: unknown) => error,
      );
    const missing = await failed('/missing');
    assert.ok(missing instanceof ApiError);
    assert.deepEqual(
      [missing.name, missing.status, missing.message],
      ['ApiError', 404, 'PUT /missing: it is not there'],
    );
    assert.deepEqual(
      [isStatus(missing, 404), isStatus(missing, 409), isStatus(new Error('x'), 404)],
      [true, false, false],
    );
    const ill = await failed('/ill');
    assert.ok(ill instanceof ApiError);
    assert.deepEqual([ill.status, ill.message], [500, 'PUT /ill: HTTP status 500']);
    assert.ok(isStatus(await failed('/moved'), 300));
  });

  test('a request ends by its signal', async () => {
    const ending = new AbortController();
    const asked = api.request({ path: '/silent', signal: ending.signal });
    ending.abort();
    await assert.rejects(asked, { name: 'AbortError' });
  });

  test('a watch gives each event, and ends with the answer of the server, or by its signal', async () => {
    const events: WatchEvent[] = [];
    await api.watch('/watch', { watch: 'true' }, (event) => events.push(event), new AbortController().signal);
    assert.deepEqual(events, [
      { type: 'ADDED', object: { a: 1 } },
      { type: 'BOOKMARK', object: {} },
    ]);
    assert.match(String(heard[1]), /^\/watch\?watch=true/);
    const before = server.requests.length;
    await api.watch('/watch', {}, () => assert.fail('it ended before'), AbortSignal.abort());
    assert.equal(server.requests.length, before);
    const ending = new AbortController();
    const watched = api.watch('/silent', {}, () => undefined, ending.signal);
    ending.abort();
    await watched;
  });
});
