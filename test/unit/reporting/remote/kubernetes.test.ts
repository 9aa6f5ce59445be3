import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesSinkModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { reportEvent } from '@machineadm/status/event.ts';
import { kubernetesSink } from '../../../../src/reporting/remote/kubernetes.ts';
import { type Authority, kubeconfig, newAuthority, startApiServer } from '../../../support/api-server.ts';
import { deliveryContext, literal } from '../../../support/delivery.ts';
import { startServer } from '../../../support/http-servers.ts';
import { at, FAILURE, statusAfter } from '../runs.ts';

const authority = newAuthority();
const identity = authority.issue('kube-apiserver', ['127.0.0.1']);
const EVENT = reportEvent(
  {
    kind: 'concluded',
    status: statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } }),
  },
  3,
  at(9),
);

function sinkTo(server: string, over: Partial<KubernetesSinkModel> = {}, trusted: Authority = authority) {
  return kubernetesSink({
    kind: 'Kubernetes',
    name: 'management',
    events: ['concluded'],
    timeoutMs: 60_000,
    access: {
      server,
      serverName: undefined,
      certificateAuthority: trusted.certificate,
      credential: { token: literal('the-token-of-this-machine') },
    },
    configMap: { namespace: 'clusters', name: 'machineadm-report-m1' },
    ...over,
  });
}

describe('a report to a management cluster', () => {
  test('is one patch of one ConfigMap, by server-side apply', async () => {
    const bodies: string[] = [];
    await using server = await startServer((request, body) => {
      assert.equal(request.headers['content-type'], 'application/apply-patch+yaml');
      assert.equal(request.headers.authorization, 'Bearer the-token-of-this-machine');
      bodies.push(body);
      return { body: '{}' };
    }, identity);
    assert.deepEqual(await sinkTo(server.url).deliver(EVENT, deliveryContext()), { kind: 'delivered' });
    assert.deepEqual(server.requests, [
      'PATCH /api/v1/namespaces/clusters/configmaps/machineadm-report-m1?fieldManager=machineadm&force=true',
    ]);
    assert.equal(JSON.parse(bodies[0] ?? '').metadata.name, 'machineadm-report-m1');
  });

  test('finds server, authority and token in a kubeconfig', async () => {
    await using server = await startServer(() => ({ body: '{}' }), identity);
    const text = kubeconfig(server.url, authority.certificate, { token: 'the-token-of-a-kubeconfig' });
    const sink = sinkTo('', { access: { kubeconfig: literal(text) } });
    assert.deepEqual(await sink.deliver(EVENT, deliveryContext()), { kind: 'delivered' });
  });

  test('authenticates with a certificate if it has one', async () => {
    const { certificate, key } = authority.issue('machineadm-report-m1');
    await using server = await startApiServer(authority, () => ({ kind: 'ConfigMap' }));
    const access = {
      server: server.url,
      serverName: undefined,
      certificateAuthority: authority.certificate,
      credential: { certificate, key: literal(key) },
    };
    assert.deepEqual(await sinkTo('', { access }).deliver(EVENT, deliveryContext()), { kind: 'delivered' });
    const stranger = newAuthority('another').issue('machineadm-report-m1');
    const other = { ...access, credential: { certificate: stranger.certificate, key: literal(stranger.key) } };
    const result = await sinkTo('', { access: other }).deliver(EVENT, deliveryContext());
    assert.match(result.kind === 'retry' ? result.why : '', /answered 401/);
  });

  test('with an unusable kubeconfig says so without quoting its contents', async () => {
    const sink = sinkTo('', { access: { kubeconfig: literal('users: [{name: x, user: {token: hidden-token}}]') } });
    await assert.rejects(sink.deliver(EVENT, deliveryContext()), (error: Error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'SecretUnavailable');
      assert.match(error.message, /^the sink management cannot be used: the kubeconfig has no usable current context$/);
      return true;
    });
  });

  for (const status of [401, 403, 404, 409, 429, 500, 503]) {
    test(`is tried again after an answer ${status}`, async () => {
      await using server = await startServer(() => ({ status, body: '{}' }), identity);
      const result = await sinkTo(server.url).deliver(EVENT, deliveryContext());
      assert.equal(result.kind, 'retry');
      assert.match(result.kind === 'retry' ? result.why : '', new RegExp(`answered ${status}`));
    });
  }

  test('is tried again when a server that limits its rate says', async () => {
    await using server = await startServer(() => ({ status: 429, headers: { 'retry-after': '9' } }), identity);
    const result = await sinkTo(server.url).deliver(EVENT, deliveryContext());
    assert.deepEqual(result, { kind: 'retry', why: 'the API server answered 429', afterMs: 9_000 });
  });

  for (const status of [400, 413, 422]) {
    test(`is given up after an answer ${status}: the same bytes would fail again`, async () => {
      await using server = await startServer(() => ({ status, body: '{}' }), identity);
      const result = await sinkTo(server.url).deliver(EVENT, deliveryContext());
      assert.deepEqual(result, { kind: 'refused', why: `the API server answered ${status}` });
    });
  }

  test('takes no longer than its own timeout if no server answers', async () => {
    await using server = await startServer(() => 'silence', identity);
    const result = await sinkTo(server.url, { timeoutMs: 300 }).deliver(EVENT, deliveryContext());
    assert.match(result.kind === 'retry' ? result.why : '', /did not answer within 0\.3 s/);
  });

  test('stops where half an answer comes', async () => {
    const headers = { 'content-length': '1000' };
    await using server = await startServer(() => ({ headers, body: '{"kind":' }), identity);
    assert.equal((await sinkTo(server.url, { timeoutMs: 300 }).deliver(EVENT, deliveryContext())).kind, 'retry');
  });

  test('sends its token to no server that its authority did not sign', async () => {
    await using server = await startServer(() => ({ body: '{}' }), identity);
    const result = await sinkTo(server.url, {}, newAuthority('another')).deliver(EVENT, deliveryContext());
    assert.equal(result.kind, 'retry');
    assert.deepEqual(server.requests, []);
  });

  test('is retried if no server listens', async () => {
    const gone = await startServer(() => ({}), identity);
    await gone[Symbol.asyncDispose]();
    const result = await sinkTo(gone.url).deliver(EVENT, deliveryContext());
    assert.match(result.kind === 'retry' ? result.why : '', /ECONNREFUSED/);
  });
});
