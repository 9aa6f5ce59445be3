import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { getObject } from '../../../src/host/cluster/api-server.ts';
import { readKubeconfig } from '../../../src/host/cluster/kubeconfig.ts';
import { getNode } from '../../../src/kubernetes/node-client.ts';
import { type Authority, kubeconfig, newAuthority, nodeObject, startApiServer } from '../../support/api-server.ts';
import { memoryHost } from '../../support/memory-host.ts';

const authority = newAuthority();
const kubelet = authority.issue('system:node:node-1');
const PATH = '/etc/kubernetes/kubelet.conf';

async function credentialFor(url: string, trusted: Authority = authority, client = kubelet) {
  const host = memoryHost({ files: { [PATH]: kubeconfig(url, trusted.certificate, client) } });
  const credential = await readKubeconfig(host, PATH);
  assert.ok(credential);
  return credential;
}

describe('asking an API server', () => {
  test('a Node is seen with its identity, provider and condition', async () => {
    const labels = { 'node-role.kubernetes.io/control-plane': '' };
    await using server = await startApiServer(authority, () =>
      nodeObject({ providerID: 'aws:///a/i-1', ready: 'False', labels }),
    );
    const answer = await getNode(await credentialFor(server.url), 'node-1');
    assert.deepEqual(answer, {
      kind: 'found',
      object: {
        name: 'node-1',
        uid: 'uid-of-node-1',
        machineId: '0123456789abcdef0123456789abcdef',
        bootId: '11111111-2222-3333-4444-555555555555',
        systemUuid: '',
        providerId: 'aws:///a/i-1',
        ready: { status: 'False', reason: 'KubeletNotReady', message: 'cni plugin not initialized' },
        controlPlane: true,
        unschedulable: false,
        kubeletVersion: '',
      },
    });
    assert.deepEqual(server.requests, ['/api/v1/nodes/node-1']);
  });

  test('the certificate and key of one file open the door as well', async () => {
    await using server = await startApiServer(authority, () => nodeObject());
    const joined = `${kubelet.certificate}${kubelet.key}`;
    const credential = await credentialFor(server.url, authority, { certificate: joined, key: joined });
    assert.equal((await getNode(credential, 'node-1')).kind, 'found');
  });

  test('a Node that does not exist is absent', async () => {
    await using server = await startApiServer(authority, () => undefined);
    assert.deepEqual(await getNode(await credentialFor(server.url), 'node-1'), { kind: 'absent' });
  });

  test('a 404 that is not of the API does not count as absent', async () => {
    await using server = await startApiServer(authority, () => ({ status: 503 }));
    const answer = await getNode(await credentialFor(server.url), 'node-1');
    assert.deepEqual(answer, { kind: 'refused', status: 503, why: 'the API server answered 503: status 503' });
  });

  test('a server of another authority is not trusted, and is never asked', async () => {
    const other = newAuthority('another cluster');
    await using server = await startApiServer(other, () => nodeObject());
    const answer = await getNode(await credentialFor(server.url), 'node-1');
    assert.equal(answer.kind, 'untrusted');
    assert.deepEqual(server.requests, []);
  });

  test('a client certificate of another authority is refused', async () => {
    const stranger = newAuthority('another cluster').issue('system:node:node-1');
    await using server = await startApiServer(authority, () => nodeObject());
    const answer = await getNode(await credentialFor(server.url, authority, stranger), 'node-1');
    assert.equal(answer.kind, 'untrusted');
    assert.deepEqual(server.requests, []);
  });

  test('a credential that the API does not accept is untrusted', async () => {
    await using server = await startApiServer(authority, () => ({ status: 401 }));
    assert.equal((await getNode(await credentialFor(server.url), 'node-1')).kind, 'untrusted');
  });

  test('a server that is not there is unreachable', async () => {
    const gone = await startApiServer(authority, () => nodeObject());
    const credential = await credentialFor(gone.url);
    await gone[Symbol.asyncDispose]();
    const answer = await getNode(credential, 'node-1');
    assert.equal(answer.kind, 'unreachable');
    assert.match(answer.kind === 'unreachable' ? answer.why : '', /127\.0\.0\.1:\d+: connect ECONNREFUSED/);
  });

  test('a server that accepts and never answers costs its limit and no more', async () => {
    await using server = await startApiServer(authority, () => 'silence');
    const answer = await getObject(await credentialFor(server.url), '/x', undefined, 200);
    const why = `${new URL(server.url).host} did not answer within 0.2 s`;
    assert.deepEqual(answer, { kind: 'unreachable', why, code: 'ETIMEDOUT' });
  });

  test('an abort ends the wait with its own reason', async () => {
    const reason = new Error('the run was ended');
    const stop = new AbortController();
    await using server = await startApiServer(authority, () => {
      stop.abort(reason);
      return 'silence';
    });
    await assert.rejects(getObject(await credentialFor(server.url), '/x', stop.signal), reason);
  });

  test('an answer without end is cut off', async () => {
    await using server = await startApiServer(authority, () => ({ padding: 'x'.repeat(5 * 1024 * 1024) }));
    const answer = await getObject(await credentialFor(server.url), '/x');
    assert.equal(answer.kind, 'unreachable');
    assert.match(answer.kind === 'unreachable' ? answer.why : '', /too large/);
  });
});
