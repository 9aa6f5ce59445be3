import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, ReadyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { readiness } from '../../../../src/features/readiness/index.ts';
import { kubeconfig, newAuthority, nodeObject, startApiServer, startHealthz } from '../../../support/api-server.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

function node(ready: Partial<ReadyModel> = {}, hostname?: string): Model {
  const kubernetes = {
    ...kubernetesModel({ role: 'Worker' }),
    ready: { require: 'NodeRegistered' as const, timeoutMs: 200, endpoint: 'Required' as const, ...ready },
  };
  return { ...hostModel({ hostname }), kubernetes };
}

describe('readiness', () => {
  test('is asked of Kubernetes nodes only', () => {
    assert.equal(bench(readiness, memoryHost(), hostModel()).desired, undefined);
  });

  test('expects the node under the host name, in lower case', () => {
    const nameOf = (model: Model, hostname: string) =>
      bench(readiness, memoryHost(), model, { hostname }).desired?.nodeName;
    assert.equal(nameOf(node(), 'Node-A.Example'), 'node-a.example');
    assert.equal(nameOf(node({}, 'Wanted'), 'before'), 'wanted');
  });

  test('of a control plane asks for its components, of a worker it does not', () => {
    const model = hostModel();
    const demand = (role: 'JoinControlPlane' | 'Worker') =>
      bench(readiness, memoryHost(), { ...model, kubernetes: kubernetesModel({ role }) }).desired?.controlPlane
        ?.required;
    assert.deepEqual(demand('JoinControlPlane'), ['etcd', 'kube-apiserver']);
    assert.equal(demand('Worker'), undefined);
  });

  test('is planned on a fresh machine, known after kubeadm', async () => {
    const [change] = await bench(readiness, memoryHost(), node()).plan();
    assert.equal(change?.id, 'readiness/NodeRegistered');
    assert.equal(change?.knownAfter, 'kubeadm');
  });

  test('of a node that works is proved once, and then nothing to do', async () => {
    const authority = newAuthority();
    await using healthz = await startHealthz();
    await using server = await startApiServer(authority, () => nodeObject());
    const files = {
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}`,
      '/etc/kubernetes/kubelet.conf': kubeconfig(
        server.url,
        authority.certificate,
        authority.issue('system:node:node-1'),
      ),
    };
    const step = bench(readiness, memoryHost({ files }), node());
    const [change] = await step.plan();
    assert.equal(change?.id, 'readiness/NodeRegistered');
    assert.equal(change?.repeatable, false);
    await step.apply();
    assert.deepEqual(await step.plan({ done: new Set(['readiness/NodeRegistered']) }), []);
  });

  test('of a control plane whose endpoint may come later succeeds with a warning, in each run', async () => {
    const authority = newAuthority();
    await using healthz = await startHealthz();
    await using server = await startApiServer(authority, () => nodeObject());
    const client = authority.issue('system:node:node-1');
    const files = {
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}`,
      '/etc/kubernetes/kubelet.conf': kubeconfig(server.url, authority.certificate, client),
      '/etc/kubernetes/admin.conf': kubeconfig('https://api.cluster.invalid:6443', authority.certificate, client),
    };
    const kubernetes = kubernetesModel({
      role: 'InitControlPlane',
      kubeadm: { skipPhases: ['etcd', 'control-plane'] },
    });
    const ready = { require: 'NodeRegistered', timeoutMs: 1000, endpoint: 'Later' } as const;
    const step = bench(readiness, memoryHost({ files }), { ...hostModel(), kubernetes: { ...kubernetes, ready } });
    const { warnings } = await step.apply();
    assert.match(
      warnings[0] ?? '',
      /works, but no other machine can reach it yet: the name of .*api\.cluster\.invalid:6443/,
    );
    const done = { done: new Set(['readiness/NodeRegistered']) };
    assert.deepEqual(await step.plan(done), []);
    const required = { ...ready, endpoint: 'Required' } as const;
    const strict = bench(readiness, memoryHost({ files }), {
      ...hostModel(),
      kubernetes: { ...kubernetes, ready: required },
    });
    await assert.rejects(strict.apply(), { reason: 'APIEndpointDNSFailure', exit: 'NotReady' });
  });

  test('that is not reached fails with its reason and the last words of the kubelet', async () => {
    const logs = ['Starting', 'E1120 failed to load kubelet config file', 'exit 1'];
    const host = memoryHost({ services: { kubelet: { logs } } });
    await assert.rejects(bench(readiness, host, node()).apply(), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'KubeletNotHealthy');
      assert.equal(error.exit, 'NotReady');
      assert.deepEqual(
        error.transcript,
        logs.map((text) => ({ source: 'kubelet', text })),
      );
      assert.deepEqual(
        error.evidence.map(({ source }) => source),
        ['kubelet healthz', 'kubelet', 'kubelet', 'kubelet'],
      );
      return true;
    });
  });
});
