import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bypassOf } from '../../../../src/features/proxy/bypass.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';

const NOTHING = { no: [] };

describe('what is reached without the proxy', () => {
  test('is this machine and every metadata service, whatever the document says', () => {
    const bypass = bypassOf(NOTHING, undefined, { nodeAddresses: [] });
    for (const entry of [
      'localhost',
      '127.0.0.0/8',
      '127.0.0.1',
      '::1',
      '169.254.169.254',
      'fd00:ec2::254',
      'metadata.google.internal',
    ]) {
      assert.ok(bypass.includes(entry), entry);
    }
    assert.ok(!bypass.includes('.svc'), 'a machine without Kubernetes has no services');
  });

  test("is the node and its cluster: subnets, names of services, the API server's endpoint", () => {
    const model = kubernetesModel();
    const kubernetes = {
      ...model,
      cluster: {
        ...model.cluster,
        controlPlaneEndpoint: 'api.example.com:6443',
        serviceSubnets: ['10.96.0.0/16', 'fd00:96::/112'],
        podSubnets: ['10.244.0.0/16'],
        dnsDomain: 'corp.local',
      },
    };
    const bypass = bypassOf(NOTHING, kubernetes, { nodeAddresses: ['10.0.0.5', 'fd00::5'] });
    for (const entry of ['10.0.0.5', 'fd00::5', 'api.example.com', '10.96.0.0/16', 'fd00:96::/112', '10.244.0.0/16']) {
      assert.ok(bypass.includes(entry), entry);
    }
    assert.ok(bypass.includes('.svc') && bypass.includes('.corp.local'));
  });

  test("has kubeadm's defaults where the document is silent", () => {
    const model = kubernetesModel();
    const silent = { ...model, cluster: { ...model.cluster, serviceSubnets: [], dnsDomain: undefined } };
    const bypass = bypassOf(NOTHING, silent, { nodeAddresses: [] });
    assert.ok(bypass.includes('10.96.0.0/12') && bypass.includes('.cluster.local'));
  });

  test('takes the host of an endpoint in every form', () => {
    const model = kubernetesModel();
    for (const [endpoint, host] of [
      ['10.0.0.10:6443', '10.0.0.10'],
      ['[fd00::10]:6443', 'fd00::10'],
      ['api.example.com', 'api.example.com'],
      ['fd00::10', 'fd00::10'],
    ] as const) {
      const kubernetes = { ...model, cluster: { ...model.cluster, controlPlaneEndpoint: endpoint } };
      assert.ok(bypassOf(NOTHING, kubernetes, { nodeAddresses: [] }).includes(host), endpoint);
    }
  });

  test('is what the document adds, last, and nothing twice', () => {
    const bypass = bypassOf({ no: ['localhost', 'mirror.example', '10.0.0.0/8'] }, undefined, {
      nodeAddresses: ['10.0.0.5', '10.0.0.5'],
    });
    assert.deepEqual(bypass.slice(-2), ['mirror.example', '10.0.0.0/8']);
    assert.equal(new Set(bypass).size, bypass.length);
  });

  test('is what the node may be reached at, by the choice of the document', () => {
    const plain = kubernetesModel();
    const choice = { interface: undefined, routeTo: undefined, subnets: ['0.0.0.0/0'], timeoutMs: 0 };
    const chosen = (different: Partial<typeof choice> | { readonly interface: string }) => ({
      ...plain,
      node: { ...plain.node, addresses: { ...choice, ...different } },
    });
    const addresses = [
      { interface: 'eth1', address: '10.9.0.11', prefix: 24 },
      { interface: 'eth1', address: '10.9.0.9', prefix: 32 },
      { interface: 'eth1', address: 'fe80::1', prefix: 64 },
      { interface: 'eth2', address: '10.8.0.11', prefix: 24 },
    ];
    const added = (different: Parameters<typeof chosen>[0]) => {
      const without = bypassOf(NOTHING, plain, { nodeAddresses: [] });
      return bypassOf(NOTHING, chosen(different), { nodeAddresses: [], addresses }).filter(
        (one) => !without.includes(one),
      );
    };
    assert.deepEqual(added({ interface: 'eth1' }), ['10.9.0.11']);
    assert.deepEqual(added({ subnets: ['10.9.0.0/16', '::/0'] }), ['10.9.0.0/16']);
    assert.deepEqual(added({}), []);
  });
});
