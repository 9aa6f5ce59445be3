import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import type { EndpointDemand } from '../../../src/kubernetes/control-plane-endpoint.ts';
import {
  probePatiently,
  probeReadiness,
  type ReadinessDemand,
  waitUntilReady,
} from '../../../src/kubernetes/readiness.ts';
import {
  type ApiAnswer,
  type Authority,
  kubeconfig,
  newAuthority,
  nodeObject,
  startApiServer,
  startHealthz,
} from '../../support/api-server.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { startServer } from '../../support/http-servers.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { READINESS_DEMAND } from '../../support/readiness-demand.ts';
import { shortPauses } from '../../support/short-pauses.ts';
import { steadyPort } from '../../support/steady-port.ts';
import { waitUntil } from '../../support/wait-until.ts';

const authority = newAuthority();

const demand = (endpoint: Partial<EndpointDemand>): ReadinessDemand => ({
  ...READINESS_DEMAND,
  controlPlane: { required: [], criSocket: undefined, endpoint: { need: 'Required', written: undefined, ...endpoint } },
});

/** A control plane that works, whose kubelet uses its own API server, and an admin.conf that leads to `endpoint`. */
async function controlPlane(endpoint: string | undefined, own: () => ApiAnswer | undefined = () => nodeObject()) {
  const server = await startApiServer(authority, (path) => (path.startsWith('/readyz') ? {} : own()));
  const healthz = await startHealthz();
  const client = authority.issue('system:node:node-1');
  const annotation = `kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: ${new URL(server.url).host}`;
  return {
    url: server.url,
    host: memoryHost({
      files: {
        '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
        '/etc/kubernetes/kubelet.conf': kubeconfig(server.url, authority.certificate, client),
        ...(endpoint === undefined
          ? {}
          : { '/etc/kubernetes/admin.conf': kubeconfig(endpoint, authority.certificate, authority.issue('admin')) }),
        '/etc/kubernetes/manifests/kube-apiserver.yaml': `kind: Pod\nmetadata:\n  annotations:\n    ${annotation}\nspec:\n  containers:\n  - command: [kube-apiserver]\n`,
      },
    }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
}

/** An API server of `authority` at the endpoint. */
async function behind(
  answer: () => ApiAnswer | undefined,
  of: Authority = authority,
  addresses?: readonly string[],
): Promise<string> {
  await using server = await startApiServer(of, answer, addresses);
  return await found(server.url);
}

/** The finding about a control plane with this endpoint. */
async function found(endpoint: string, need: EndpointDemand['need'] = 'Required'): Promise<string> {
  await using machine = await controlPlane(endpoint);
  const finding = await probeReadiness(machine.host, demand({ need }));
  return finding.ready ? `ready ${finding.endpoint?.reason ?? ''}`.trim() : `${finding.reason}: ${finding.why}`;
}

describe('the endpoint of a control plane that works', () => {
  shortPauses();
  test('is proven where it leads to this cluster', async () => {
    assert.equal(await behind(() => nodeObject()), 'ready');
  });

  test('must resolve', async () => {
    assert.match(
      await found('https://api.cluster.invalid:6443'),
      /^APIEndpointDNSFailure: .*api\.cluster\.invalid:6443/,
    );
  });

  test('must accept connections', async () => {
    const refused = await found(`https://127.0.0.1:${await steadyPort()}`);
    assert.match(refused, /^APIEndpointConnectionRefused: the API endpoint 127\.0\.0\.1:\d+ refuses connections$/);
  });

  test('must answer in time', async () => {
    const silent = await behind(() => 'silence');
    assert.match(silent, /^APIEndpointTimeout: /);
  });

  test('must use TLS', async () => {
    await using plain = await startServer(() => ({ body: 'hello' }));
    assert.match(await found(plain.url.replace('http:', 'https:')), /^APIEndpointNotTLS: /);
  });

  test('must have a server behind it', async () => {
    const balancer = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
    const address = balancer.address();
    assert.ok(address !== null && typeof address === 'object');
    const answer = await found(`https://127.0.0.1:${address.port}`);
    await new Promise((resolve) => balancer.close(resolve));
    assert.match(answer, /^APIEndpointLoadBalancerUnhealthy: .* accepts connections but/);
  });

  test('must have a certificate of the CA of the cluster', async () => {
    const foreign = await behind(() => nodeObject(), newAuthority());
    assert.match(foreign, /^APIServerCertUntrusted: .* is not signed by the CA of \/etc\/kubernetes\/admin\.conf$/);
  });

  test('must be in the certificate', async () => {
    const other = await behind(() => nodeObject(), authority, ['192.0.2.1']);
    assert.match(other, /^APIServerCertSANMismatch: /);
  });

  test('must be able to serve', async () => {
    const unavailable = await behind(() => ({ status: 503 }));
    assert.match(unavailable, /^APIServerUnavailable: .*answered 503/);
  });

  test('must lead to this cluster, even if another one has the same CA', async () => {
    const without = await behind(() => undefined);
    assert.match(without, /^APIEndpointOtherCluster: .* it does not have the Node of this machine$/);
    const namesake = await behind(() => nodeObject({ uid: 'another' }));
    assert.match(namesake, /^APIEndpointOtherCluster: .* its Node node-1 is not the one/);
    const stranger = await behind(() => ({ status: 401 }));
    assert.match(stranger, /^APIEndpointOtherCluster: .* it refuses the certificate of the kubelet/);
  });

  test('may refuse what the own API server refuses, too', async () => {
    await using server = await startApiServer(authority, () => ({ status: 403 }));
    await using machine = await controlPlane(server.url, () => ({ status: 403 }));
    const finding = await probeReadiness(machine.host, { ...demand({}), require: 'KubeletHealthy' });
    assert.deepEqual(finding, { ready: true });
  });

  test('is not asked where it is the own API server', async () => {
    let asked = 0;
    await using machine = await controlPlane(undefined, () => {
      asked += 1;
      return nodeObject();
    });
    const written = new URL(machine.url).host;
    assert.deepEqual(await probeReadiness(machine.host, demand({ written })), { ready: true });
    assert.equal(asked, 1);
  });

  test('is the one of the document where admin.conf is missing', async () => {
    const written = `127.0.0.1:${await steadyPort()}`;
    await using machine = await controlPlane(undefined);
    const finding = await probeReadiness(machine.host, demand({ written }));
    assert.equal(finding.ready ? 'ready' : finding.reason, 'APIEndpointConnectionRefused');
    assert.deepEqual(await probeReadiness(machine.host, demand({})), { ready: true });
  });

  test('counts whatever ready.require is', async () => {
    await using machine = await controlPlane('https://api.cluster.invalid:6443');
    const finding = await probeReadiness(machine.host, { ...demand({}), require: 'KubeletHealthy' });
    assert.equal(finding.ready ? 'ready' : finding.reason, 'APIEndpointDNSFailure');
  });

  test('that may come later does not prevent success, and is reported', async () => {
    assert.equal(await found('https://api.cluster.invalid:6443', 'Later'), 'ready APIEndpointDNSFailure');
  });
});

describe('waiting for the endpoint', () => {
  shortPauses();
  const options = (timeoutMs: number, waits: (string | undefined)[] = []) => ({
    timeoutMs,
    signal: AbortSignal.timeout(120_000),
    waitingFor: (what: string | undefined) => void waits.push(what),
  });

  test('ends at ready.timeout and says that the control plane works and its endpoint does not', async () => {
    await using machine = await controlPlane('https://api.cluster.invalid:6443');
    await assert.rejects(waitUntilReady(machine.host, demand({}), options(0)), {
      reason: 'APIEndpointDNSFailure',
      exit: 'NotReady',
      retryable: true,
      message:
        /^The control plane of this machine works, but its endpoint did not lead to it within 0 s: the name of the API endpoint api\.cluster\.invalid:6443 does not resolve/,
      remedy: /kubernetes\.ready\.endpoint to Later/,
    });
  });

  test('is futile where an operator must correct something', async () => {
    await using server = await startApiServer(newAuthority(), () => nodeObject());
    await using machine = await controlPlane(server.url);
    await assert.rejects(waitUntilReady(machine.host, demand({}), options(0)), {
      reason: 'APIServerCertUntrusted',
      retryable: false,
    });
  });

  test('ends when it comes up within ready.timeout', async () => {
    using clock = fakeClock();
    let isUp = false;
    await using server = await startApiServer(authority, () => (isUp ? nodeObject() : { status: 503 }));
    await using machine = await controlPlane(server.url);
    const waits: (string | undefined)[] = [];
    const waiting = waitUntilReady(machine.host, demand({}), options(60_000, waits));
    await waitUntil(() => clock.pauses.length > 0, 'it was not ready once');
    isUp = true;
    assert.deepEqual(await clock.until(waiting), { ready: true });
    assert.match(waits[0] ?? '', /^the control-plane endpoint to lead to this cluster: .*answered 503/);
    assert.equal(waits.at(-1), undefined);
  });

  test('of a node that was proven outlasts a moment in which it does not answer', async () => {
    await using machine = await controlPlane(`https://127.0.0.1:${await steadyPort()}`);
    using clock = fakeClock();
    const probing = probePatiently(machine.host, demand({}));
    await waitUntil(() => clock.pauses.length > 0, 'it was not asked again');
    const finding = await clock.until(probing);
    assert.equal(finding.ready ? 'ready' : finding.reason, 'APIEndpointConnectionRefused');
    assert.ok(clock.passedMs > 10_000);
  });
});
