import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import type { NodeAddressesModel } from '@machineadm/document/sections/kubernetes/node-addresses.ts';
import { kubeadmConfig } from '../../../../src/features/kubeadm/config.ts';
import { nodeAddresses } from '../../../../src/features/node-addresses/index.ts';
import type { InterfaceAddress } from '../../../../src/host/seam/facts.ts';
import { withHooks } from '../../../../src/pipeline/after-hooks.ts';
import { planSteps } from '../../../../src/pipeline/plan.ts';
import { RunTrace } from '../../../../src/pipeline/run-trace.ts';
import { runSteps } from '../../../../src/pipeline/runner.ts';
import { EMPTY_RECORD, type Step } from '../../../../src/step/index.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { hostModel } from '../../../support/host-model.ts';
import { inlineSecret, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';
import { bench } from '../../../support/step-bench.ts';
import { memoryJournal, runBench } from '../../pipeline/fake-steps.ts';

const ETH1: InterfaceAddress = { interface: 'eth1', address: '10.0.0.11', prefix: 24 };
const OTHER: InterfaceAddress = { ...ETH1, address: '10.0.0.12' };
const FLAGS = '/var/lib/kubelet/kubeadm-flags.env';
const CONFIG = '/run/kubeadm/kubeadm-join-config.yaml';
const FOUND = new Map([['node-addresses', { addresses: ['10.0.0.11'] }]]);

function document(different: Partial<NodeAddressesModel> = {}): Model {
  const addresses = { interface: 'eth1', routeTo: undefined, subnets: ['0.0.0.0/0'], timeoutMs: 60_000, ...different };
  const kubernetes = kubernetesModel({
    role: 'Worker',
    join: {
      discovery: {
        token: inlineSecret('abcdef.0123456789abcdef', 'joinToken'),
        endpoint: '10.0.0.1:6443',
        caCertHashes: [`sha256:${'a'.repeat(64)}`],
        unsafeSkipCAVerification: false,
      },
      tlsBootstrapToken: undefined,
      caCertPath: '/etc/kubernetes/pki/ca.crt',
    },
  });
  return { ...hostModel(), kubernetes: { ...kubernetes, node: { ...kubernetes.node, addresses } } };
}

const on = (...addresses: readonly InterfaceAddress[]) => memoryHost({ addresses });
const preflightOf = async (host = on(), model = document(), record = {}) => {
  const desired = nodeAddresses.desired(model, runBench().facts);
  assert.ok(desired !== undefined);
  return (await nodeAddresses.preflight?.(host, desired, { ...EMPTY_RECORD, ...record })) ?? [];
};

describe('the step of the addresses of the node', () => {
  test('uses an address that is there, once', async () => {
    const step = bench(nodeAddresses, on(ETH1), document());
    const [change] = await step.plan();
    assert.equal(change?.summary, 'use 10.0.0.11 of eth1');
    const { notes } = await step.apply();
    assert.deepEqual(notes, [{ addresses: ['10.0.0.11'] }]);
    assert.deepEqual(await step.plan({ notes: FOUND }), []);
    assert.deepEqual(await preflightOf(on(ETH1)), []);
  });

  test('is none without the field', () => {
    const kubernetes = kubernetesModel();
    assert.equal(nodeAddresses.desired({ ...hostModel(), kubernetes }, runBench().facts), undefined);
  });

  test('waits for the address, and says for what', async () => {
    using clock = fakeClock();
    const addresses: InterfaceAddress[] = [];
    const host = memoryHost({ addresses });
    clock.at(3_000, () => addresses.push(ETH1));
    const { waits, notes, left } = await clock.until(runStep(nodeAddresses, host, document()));
    assert.deepEqual([...new Set(waits)], ['the addresses of the node: there is no interface eth1', undefined]);
    assert.deepEqual([...notes.values()], [{ addresses: ['10.0.0.11'] }]);
    assert.deepEqual(left, []);
    assert.equal(clock.passedMs, 3_000);
  });

  test('fails after its timeout, with what the machine has', async () => {
    using clock = fakeClock();
    const host = on({ interface: 'eth0', address: '192.0.2.5', prefix: 24 });
    await assert.rejects(clock.until(runStep(nodeAddresses, host, document())), {
      reason: 'NodeAddressMissing',
      message: 'there is no interface eth1 (kubernetes.node.addresses), after 1 m 00 s',
      retryable: true,
      exit: 'HostStepFailed',
      evidence: [{ source: 'addresses', text: 'eth0: 192.0.2.5/24' }],
    });
    assert.equal(clock.passedMs, 60_000);
  });

  test('ends with the run', async () => {
    const end = new AbortController();
    let asked = 0;
    const addresses = async () => {
      asked += 1;
      if (asked === 3) end.abort();
      return [];
    };
    using clock = fakeClock();
    const waiting = runStep(nodeAddresses, { ...on(), addresses }, document(), { signal: end.signal });
    await assert.rejects(clock.until(waiting), { name: 'AbortError' });
    assert.equal(asked, 3);
  });

  test('fails at once where several addresses appear', async () => {
    using clock = fakeClock();
    const addresses: InterfaceAddress[] = [];
    clock.at(1_000, () => addresses.push(ETH1, OTHER));
    await assert.rejects(clock.until(runStep(nodeAddresses, memoryHost({ addresses }), document())), {
      reason: 'NodeAddressAmbiguous',
      retryable: false,
      remedy: 'Add the subnet of the right one to kubernetes.node.addresses.subnets.',
    });
    assert.equal(clock.passedMs, 1_000);
  });

  test('keeps what an earlier run found, and plans another address visibly', async () => {
    const both = bench(nodeAddresses, on(ETH1, OTHER), document());
    assert.deepEqual(await both.plan({ notes: FOUND }), []);
    const [change] = await bench(nodeAddresses, on(OTHER), document()).plan({ notes: FOUND });
    assert.equal(change?.summary, 'use 10.0.0.12 of eth1, and no longer 10.0.0.11');
  });
});

describe('before a run', () => {
  test('an address that is not there yet is a warning, as the run waits for it', async () => {
    const [found, ...more] = await preflightOf();
    assert.deepEqual(more, []);
    assert.deepEqual(
      [found?.reason, found?.severity, found?.field],
      ['NodeAddressMissing', 'warning', 'kubernetes.node.addresses'],
    );
    assert.equal(
      found?.what,
      'there is no interface eth1 now (kubernetes.node.addresses); provision waits 1 m 00 s for it, and then fails',
    );
  });

  test('an address that is not waited for, and one of several, are refused', async () => {
    const [missing] = await preflightOf(on(), document({ timeoutMs: 0 }));
    assert.deepEqual([missing?.reason, missing?.severity], ['NodeAddressMissing', undefined]);
    const [ambiguous] = await preflightOf(on(ETH1, OTHER));
    assert.deepEqual([ambiguous?.reason, ambiguous?.severity], ['NodeAddressAmbiguous', undefined]);
    assert.match(ambiguous?.what ?? '', /10\.0\.0\.11 \(eth1\), 10\.0\.0\.12 \(eth1\)/);
    assert.deepEqual(await preflightOf(on(ETH1, OTHER), document(), { notes: FOUND }), []);
  });

  test('a network that an earlier step configures is awaited', async () => {
    const network = { tool: 'networkd', files: [], keep: {} } as unknown as Model['host']['network'];
    const model = document();
    const [found] = await preflightOf(on(ETH1, OTHER), { ...model, host: { ...model.host, network } });
    assert.equal(found?.broughtBy, 'network');
  });
});

describe('a machine that is a node', () => {
  const node = (flags: string, ...addresses: readonly InterfaceAddress[]) =>
    memoryHost({ addresses, files: { [FLAGS]: `KUBELET_KUBEADM_ARGS="${flags}"\n` } });
  const record = { bootstrap: 'done' } as const;

  test('keeps the address of its kubelet, whatever else the machine gets', async () => {
    const host = node('--node-ip=10.0.0.11 --v=2', ETH1, OTHER);
    assert.deepEqual(await preflightOf(host, document(), record), []);
    assert.deepEqual(await bench(nodeAddresses, host, document()).plan(record), []);
  });

  test('whose address has changed is warned about, and changes nothing', async () => {
    const host = node('--node-ip=10.0.0.11', OTHER);
    const [found] = await preflightOf(host, document(), record);
    assert.deepEqual([found?.reason, found?.severity], ['NodeAddressMissing', 'warning']);
    assert.equal(
      found?.what,
      'the kubelet of this node keeps the node-ip 10.0.0.11, although the machine has 10.0.0.12 of eth1 for it (kubernetes.node.addresses)',
    );
    assert.deepEqual(await bench(nodeAddresses, host, document()).plan(record), []);
    assert.deepEqual(host.log, []);
  });

  test('whose kubelet has no address, or whose interface is gone, is warned about', async () => {
    const [without] = await preflightOf(node('', ETH1), document(), record);
    assert.match(
      without?.what ?? '',
      /^the kubelet of this node has no node-ip, although the machine has 10\.0\.0\.11/,
    );
    const [gone] = await preflightOf(node('--node-ip=10.0.0.11'), document(), record);
    assert.match(gone?.what ?? '', /keeps the node-ip 10\.0\.0\.11, although there is no interface eth1/);
  });
});

describe('later steps', () => {
  const steps = [nodeAddresses, kubeadmConfig] as unknown as readonly Step[];

  test('get the document with the address, and a second run has nothing to do', async () => {
    using clock = fakeClock();
    const addresses: InterfaceAddress[] = [];
    const host = memoryHost({ addresses, programs: { kubeadm: () => ({}) } });
    const journal = memoryJournal();
    const resolved: unknown[] = [];
    const run = async () => {
      const base = runBench({ host, journal });
      const open = withHooks(
        {
          ...base,
          model: document(),
          trace: new RunTrace(),
          resolved: ({ kubernetes }) => resolved.push(kubernetes?.node.kubelet.args),
        },
        steps,
      );
      await clock.until(runSteps(steps, open));
      return base.story.filter((line) => !line.includes('waits'));
    };
    clock.at(2_000, () => addresses.push(ETH1));
    await run();
    assert.match(host.text(CONFIG) ?? '', /name: node-ip\n\s+value: "10\.0\.0\.11"/);
    assert.deepEqual(resolved, [[{ name: 'node-ip', value: '10.0.0.11' }]]);
    addresses.push(OTHER);
    assert.deepEqual(await run(), [
      'node-addresses started',
      'node-addresses Unchanged []',
      'kubeadm-config started',
      'kubeadm-config Unchanged []',
    ]);
  });

  test('are planned with the address, or as known after it', async () => {
    const planOf = async (...addresses: readonly InterfaceAddress[]) => {
      const base = runBench({ host: on(...addresses) });
      return (await planSteps(steps, { ...base, model: document(), journal: base.journal.state() })).changes;
    };
    const [, there] = await planOf(ETH1);
    assert.equal(there?.knownAfter, undefined);
    assert.match(there?.diff ?? '', /^\+ +value: "10\.0\.0\.11"$/m);
    const [wait, absent] = await planOf();
    assert.equal(
      wait?.summary,
      'find the addresses of the node (now: there is no interface eth1), waiting up to 1 m 00 s',
    );
    assert.equal(absent?.knownAfter, 'node-addresses');
    assert.doesNotMatch(absent?.diff ?? '', /node-ip/);
  });
});
