import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { probeReadiness, type ReadinessDemand, waitUntilReady } from '../../../src/kubernetes/readiness.ts';
import {
  type ApiAnswer,
  kubeconfig,
  type NodeWish,
  newAuthority,
  nodeObject,
  startApiServer,
  startHealthz,
} from '../../support/api-server.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { READINESS_DEMAND as DEMAND } from '../../support/readiness-demand.ts';

const authority = newAuthority();

interface Machine extends AsyncDisposable {
  readonly host: MemoryHost;
  readonly requests: readonly string[];
  readonly healthz: { status: number };
}

/** A machine with a healthy kubelet whose credential leads to an API server that answers this. */
async function machine(answer: () => ApiAnswer | undefined, certificateOf = 'node-1'): Promise<Machine> {
  const server = await startApiServer(authority, answer);
  const healthz = await startHealthz();
  const client = authority.issue(`system:node:${certificateOf}`);
  return {
    host: memoryHost({
      files: {
        '/var/lib/kubelet/config.yaml': `kind: KubeletConfiguration\nhealthzPort: ${healthz.port}\n`,
        '/etc/kubernetes/kubelet.conf': kubeconfig(server.url, authority.certificate, client),
      },
    }),
    requests: server.requests,
    healthz,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
}

async function probe(node: NodeWish | undefined, demand: Partial<ReadinessDemand> = {}) {
  await using one = await machine(() => (node === undefined ? undefined : nodeObject(node)));
  const finding = await probeReadiness(one.host, { ...DEMAND, ...demand });
  return finding.ready ? 'ready' : `${finding.reason}: ${finding.why}`;
}

describe('the kubelet', () => {
  test('without a configuration is not healthy, and no server is queried', async () => {
    const finding = await probeReadiness(memoryHost(), DEMAND);
    assert.equal(finding.ready, false);
    assert.equal(!finding.ready && finding.reason, 'KubeletNotHealthy');
    assert.match(finding.ready ? '' : finding.why, /no configuration yet/);
  });

  test('that answers 500 is not healthy', async () => {
    await using one = await machine(() => nodeObject());
    one.healthz.status = 500;
    const finding = await probeReadiness(one.host, DEMAND);
    assert.match(
      finding.ready ? '' : `${finding.reason} ${finding.why}`,
      /^KubeletNotHealthy .*\/healthz answered 500$/,
    );
    assert.deepEqual(one.requests, []);
  });

  test('that does not listen is not healthy', async () => {
    await using gone = await startHealthz();
    await gone[Symbol.asyncDispose]();
    const files = { '/var/lib/kubelet/config.yaml': `healthzPort: ${gone.port}` };
    const finding = await probeReadiness(memoryHost({ files }), DEMAND);
    assert.match(finding.ready ? '' : `${finding.reason} ${finding.why}`, /^KubeletNotHealthy .*ECONNREFUSED/);
  });

  test('is enough if the document requires no more', async () => {
    await using one = await machine(() => undefined);
    assert.deepEqual(await probeReadiness(one.host, { ...DEMAND, require: 'KubeletHealthy' }), { ready: true });
    assert.deepEqual(one.requests, []);
  });

  test('with its health endpoint switched off is checked by its service', async () => {
    const files = { '/var/lib/kubelet/config.yaml': 'healthzPort: 0' };
    const demand = { ...DEMAND, require: 'KubeletHealthy' } as const;
    const running = memoryHost({ files, services: { kubelet: { active: true } } });
    assert.deepEqual(await probeReadiness(running, demand), { ready: true });
    const crashing = memoryHost({ files, services: { kubelet: { detail: 'activating' } } });
    const finding = await probeReadiness(crashing, demand);
    assert.match(finding.ready ? '' : finding.why, /the kubelet service is activating/);
  });
});

describe('a node counts as registered', () => {
  test('when the API server has it and it is this machine', async () => {
    assert.equal(await probe({}), 'ready');
  });

  test('not when the API server has no such Node', async () => {
    assert.equal(await probe(undefined), 'NodeNotRegistered: the API server has no Node node-1');
  });

  test('not known while the API server does not answer', async () => {
    await using one = await machine(() => nodeObject());
    const client = authority.issue('system:node:node-1');
    const away = kubeconfig('https://127.0.0.1:1', authority.certificate, client);
    one.host.put('/etc/kubernetes/kubelet.conf', away);
    const finding = await probeReadiness(one.host, DEMAND);
    assert.match(finding.ready ? '' : `${finding.reason} ${finding.why}`, /^NodeStateUnknown .*ECONNREFUSED/);
  });

  test('not when another machine owns the name', async () => {
    assert.match(await probe({ machineID: 'f'.repeat(32) }), /^NodeIdentityMismatch: .* has the machine ID f+, this/);
  });

  test('not while the Node is still that of the boot before', async () => {
    assert.match(await probe({ bootID: 'another-boot' }), /^NodeIdentityMismatch: .* has the boot ID another-boot/);
  });

  test('by the identity that both sides know', async () => {
    assert.equal(await probe({ machineID: '' }), 'ready');
    assert.match(await probe({ machineID: '', bootID: '' }), /^NodeIdentityMismatch: .* does not say which machine/);
  });

  test('with the provider ID of the document, where it gives one', async () => {
    const providerId = 'aws:///eu-1a/i-0abc';
    assert.equal(await probe({ providerID: providerId }, { providerId }), 'ready');
    assert.match(await probe({}, { providerId }), /^NodeIdentityMismatch: .* has the provider ID none yet/);
    assert.match(
      await probe({ providerID: 'aws:///eu-1a/i-1' }, { providerId }),
      /^NodeIdentityMismatch: .*i-1, the document says/,
    );
  });

  test('under the name its certificate says, where a hook chose another than expected', async () => {
    await using one = await machine(() => nodeObject({ name: 'from-hook' }), 'from-hook');
    assert.deepEqual(await probeReadiness(one.host, DEMAND), { ready: true });
    assert.deepEqual(one.requests, ['/api/v1/nodes/from-hook']);
  });

  test('but under the name of the document, where it gives one', async () => {
    await using one = await machine(() => nodeObject(), 'from-hook');
    await probeReadiness(one.host, { ...DEMAND, nodeNameGiven: true });
    assert.deepEqual(one.requests, ['/api/v1/nodes/node-1']);
  });

  test('not before the kubelet has a credential', async () => {
    await using one = await machine(() => nodeObject());
    one.host.take('/etc/kubernetes/kubelet.conf');
    const finding = await probeReadiness(one.host, DEMAND);
    assert.match(
      finding.ready ? '' : `${finding.reason} ${finding.why}`,
      /^NodeNotRegistered .*kubelet\.conf does not/,
    );
  });
});

describe('NodeReady', () => {
  const demand = { require: 'NodeReady' } as const;
  test('asks for the condition Ready to be True', async () => {
    assert.equal(await probe({ ready: 'True' }, demand), 'ready');
    assert.equal(
      await probe({ ready: 'False' }, demand),
      'NodeNotReady: Node node-1 has Ready=False (KubeletNotReady: cni plugin not initialized)',
    );
    assert.equal(await probe({}, demand), 'NodeNotReady: Node node-1 has no Ready condition yet');
  });
});

describe('waiting', () => {
  const options = (timeoutMs: number, waits: (string | undefined)[] = []) => ({
    timeoutMs,
    signal: new AbortController().signal,
    waitingFor: (what: string | undefined) => void waits.push(what),
  });

  test('continues until the Node exists, and reports what it waits for', async () => {
    let asked = 0;
    await using one = await machine(() => {
      asked += 1;
      return asked < 2 ? undefined : nodeObject();
    });
    const waits: (string | undefined)[] = [];
    await waitUntilReady(one.host, DEMAND, options(10_000, waits));
    assert.deepEqual(waits, ['Node node-1 to be registered: the API server has no Node node-1', undefined]);
  });

  test('ends at its timeout with the last finding as the reason and exit code NotReady', async () => {
    await using one = await machine(() => nodeObject({ machineID: 'f'.repeat(32) }));
    await assert.rejects(waitUntilReady(one.host, DEMAND, options(300)), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'NodeIdentityMismatch');
      assert.equal(error.exit, 'NotReady');
      assert.equal(error.retryable, false);
      assert.equal(error.evidence[0]?.source, 'API server');
      return true;
    });
  });

  test('ends at once when the run is ended, with the reason of that', async () => {
    await using one = await machine(() => undefined);
    const reason = new Error('the run was ended');
    const stop = new AbortController();
    using clock = fakeClock();
    clock.at(100, () => stop.abort(reason));
    const waiting = waitUntilReady(one.host, DEMAND, { ...options(60_000), signal: stop.signal });
    await clock.until(assert.rejects(waiting, reason));
    assert.equal(clock.passedMs, 100);
  });
});
