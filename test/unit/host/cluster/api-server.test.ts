import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { type ApiCredential, askApiServer } from '../../../../src/host/cluster/api-server.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { startServer } from '../../../support/http-servers.ts';

const authority = newAuthority();
const identity = authority.issue('kube-apiserver', ['127.0.0.1']);

function credentialFor(url: string): ApiCredential {
  return {
    server: new URL(url),
    serverName: undefined,
    certificateAuthority: authority.certificate,
    token: new Secret('report-token-of-this-machine'),
  };
}

describe('patching an object of an API server', () => {
  test('sends the content type, the length and the token', async () => {
    const seen: { request: IncomingMessage; body: string }[] = [];
    await using server = await startServer((request, body) => {
      seen.push({ request, body });
      return { body: '{"kind":"ConfigMap"}' };
    }, identity);
    const answer = await askApiServer(credentialFor(server.url), {
      path: '/api/v1/namespaces/a/configmaps/b?fieldManager=c',
      patch: { contentType: 'application/apply-patch+yaml', body: '{"é":1}' },
    });
    assert.deepEqual(answer, { kind: 'found', object: { kind: 'ConfigMap' } });
    assert.deepEqual(server.requests, ['PATCH /api/v1/namespaces/a/configmaps/b?fieldManager=c']);
    const { request, body } = seen[0] ?? assert.fail();
    assert.equal(request.headers['content-type'], 'application/apply-patch+yaml');
    assert.equal(request.headers.authorization, 'Bearer report-token-of-this-machine');
    assert.equal(request.headers['content-length'], '8', 'in bytes, and not in pieces');
    assert.equal(body, '{"é":1}');
  });

  test('that did not exist creates it: a server-side apply is answered with 201', async () => {
    const statuses = [201, 202, 204];
    await using server = await startServer(
      () => ({ status: statuses.shift() ?? 500, body: '{"kind":"ConfigMap"}' }),
      identity,
    );
    const apply = { contentType: 'application/apply-patch+yaml', body: '{}' };
    const request = { path: '/api/v1/namespaces/a/configmaps/b?fieldManager=c', patch: apply };
    const kinds: string[] = [];
    for (const _ of [1, 2, 3]) kinds.push((await askApiServer(credentialFor(server.url), request)).kind);
    assert.deepEqual(kinds, ['found', 'found', 'refused'], 'any other status is a refusal');
  });

  test('a server behind a proxy of clusters has a path of its own', async () => {
    await using server = await startServer(() => ({ body: '{}' }), identity);
    for (const path of ['/k8s/clusters/c-1', '/k8s/clusters/c-1/']) {
      await askApiServer(credentialFor(`${server.url}${path}`), { path: '/version' });
    }
    assert.deepEqual(server.requests, Array(2).fill('GET /k8s/clusters/c-1/version'));
  });

  test('a server that is overloaded says when to retry, in seconds', async () => {
    const headers: Record<string, string> = { 'retry-after': '7' };
    await using server = await startServer(() => ({ status: 429, headers, body: 'too many' }), identity);
    const ask = () => askApiServer(credentialFor(server.url), { path: '/x' });
    assert.deepEqual(await ask(), {
      kind: 'refused',
      status: 429,
      why: 'the API server answered 429',
      retryAfterMs: 7_000,
    });
    headers['retry-after'] = 'Wed, 21 Oct 2026 07:28:00 GMT';
    assert.deepEqual(await ask(), { kind: 'refused', status: 429, why: 'the API server answered 429' });
  });

  test('a redirect is not followed: the token is for this server', async () => {
    await using other = await startServer(() => ({ body: '{}' }), identity);
    await using server = await startServer(() => ({ status: 307, headers: { location: `${other.url}/x` } }), identity);
    const answer = await askApiServer(credentialFor(server.url), { path: '/x' });
    assert.deepEqual(answer, { kind: 'refused', status: 307, why: 'the API server answered 307' });
    assert.deepEqual(other.requests, []);
  });

  test('a truncated answer is an error', async () => {
    await using server = await startServer(
      () => ({ headers: { 'content-length': '100' }, body: '{"kind":' }),
      identity,
    );
    const answer = await askApiServer(credentialFor(server.url), { path: '/x', timeoutMs: 300 });
    assert.equal(answer.kind, 'unreachable');
  });
});
