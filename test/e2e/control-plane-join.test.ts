import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { controlPlaneDocument, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { ALL_CASES, assertSucceeded, Fleet, labUnavailable, type Node, SENTINEL } from '../support/lab.ts';
import { provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const skip = labUnavailable() ?? (ALL_CASES ? false : 'not of the core set: set MACHINEADM_E2E=all');

describe('a second control plane', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();
  let fleet: Fleet;
  let first: Node;

  before(
    async () => {
      fleet = await Fleet.open();
      first = await fleet.start({ name: 'e2e-c1', ip: '10.99.0.61' });
      await first.lay(initDocument(first.site, seeds));
      await assertSucceeded(first, await first.provision());
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => fleet?.close());

  test('joins with the certificate key and becomes a member of etcd', { timeout: 12 * MINUTE }, async () => {
    const second = await fleet.start({ name: 'e2e-c2', ip: '10.99.0.62' });
    await provisionTwice(second, controlPlaneDocument(second.site, seeds, first.machine.ip), seeds);
    assert.equal(await second.read(SENTINEL), 'success\n');
    const kubectl = 'kubectl --kubeconfig /etc/kubernetes/admin.conf';
    assert.match(await second.machine.shell(`${kubectl} get nodes -o name`), /node\/e2e-c1\nnode\/e2e-c2\n/);
    const pods = await second.machine.shell(`${kubectl} -n kube-system get pods -l component=etcd -o name`);
    assert.deepEqual(pods.trim().split('\n').sort(), ['pod/etcd-e2e-c1', 'pod/etcd-e2e-c2']);
    await fleet.remove(second);
  });
});

describe('a copied disk of a control plane', { skip, timeout: 15 * MINUTE }, () => {
  const seeds = newSeeds();
  let fleet: Fleet;

  before(
    async () => {
      fleet = await Fleet.open();
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => fleet?.close());

  test('booted as another machine becomes a control plane of its own', { timeout: 10 * MINUTE }, async () => {
    const first = await fleet.start({ name: 'e2e-c3', ip: '10.99.0.63' });
    await first.lay(initDocument(first.site, seeds));
    await assertSucceeded(first, await first.provision());
    const clone = await fleet.clone(first, { name: 'e2e-c4', ip: '10.99.0.64' });
    await fleet.remove(first);
    const run = await provisionTwice(clone, initDocument(clone.site, seeds), seeds);
    assert.equal(run.status.attempt, 1);
    const nodes = await clone.machine.shell('kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name');
    assert.equal(nodes, 'node/e2e-c4\n', "the other machine's cluster is gone");
  });

  test('a leftover Node of the same name is not taken for success', { timeout: 8 * MINUTE }, async () => {
    const first = await fleet.start({ name: 'e2e-c5', ip: '10.99.0.65' });
    await first.lay(initDocument(first.site, seeds));
    await assertSucceeded(first, await first.provision());
    // A Node of that name, of a machine that is no more; and a kubelet that will not register over it.
    const kubectl = 'kubectl --kubeconfig /etc/kubernetes/admin.conf';
    const manifest = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'e2e-w9' } };
    await first.machine.shell(`${kubectl} create -f -`, { input: JSON.stringify(manifest) });
    const worker = await fleet.start({ name: 'e2e-w9', ip: '10.99.0.66' });
    const document = merge(workerDocument(worker.site, seeds, first.machine.ip), {
      kubernetes: {
        node: { kubelet: { args: [{ name: 'register-node', value: 'false' }] } },
        ready: { timeout: '20s' },
      },
    });
    await worker.lay(document);
    const run = await worker.provision();
    assert.notEqual(run.exitCode, 0);
    assert.notEqual(run.status.outcome, 'Succeeded');
    assert.equal(await worker.read(SENTINEL), undefined);
  });
});
