import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attempts, controlPlaneDocument, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { nodeOfGoneMachine } from '../support/faults/shell.ts';
import {
  assertFailed,
  assertSucceeded,
  Fleet,
  KUBECTL,
  LAB,
  type Node,
  provisionOnce,
  SENTINEL,
} from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks, provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');
describe('a second control plane', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();
  let first: Node;

  const fleet = Fleet.ofSuite(async () => {
    first = await fleet.start({ name: 'e2e-c1', ip: '10.99.0.61' });
    await provisionOnce(first, initDocument(first.site, seeds));
  });

  test('joins with the certificate key and becomes a member of etcd', { timeout: 12 * MINUTE }, async () => {
    const second = await fleet.start({ name: 'e2e-c2', ip: '10.99.0.62' });
    await provisionTwice(second, controlPlaneDocument(second.site, seeds, first.machine.ip), seeds);
    assert.equal(await second.read(SENTINEL), 'success\n');
    assert.match(await second.machine.shell(`${KUBECTL} get nodes -o name`), /node\/e2e-c1\nnode\/e2e-c2\n/);
    const pods = await second.machine.shell(`${KUBECTL} -n kube-system get pods -l component=etcd -o name`);
    assert.deepEqual(pods.trim().split('\n').sort(), ['pod/etcd-e2e-c1', 'pod/etcd-e2e-c2']);
    await fleet.remove(second);
  });
});

describe('a copied disk of a control plane', { skip, timeout: 15 * MINUTE }, () => {
  const seeds = newSeeds();

  const fleet = Fleet.ofSuite();

  test('booted as another machine becomes a control plane of its own', { timeout: 10 * MINUTE }, async () => {
    const first = await fleet.start({ name: 'e2e-c3', ip: '10.99.0.63' });
    await provisionOnce(first, initDocument(first.site, seeds));
    const clone = await fleet.clone(first, { name: 'e2e-c4', ip: '10.99.0.64' });
    await fleet.remove(first);
    const run = await provisionTwice(clone, initDocument(clone.site, seeds), seeds);
    assert.equal(run.status.attempt, 1);
    const nodes = await clone.machine.shell(`${KUBECTL} get nodes -o name`);
    assert.equal(nodes, 'node/e2e-c4\n', "the other machine's cluster is gone");
  });

  test('a leftover Node of the same name does not count as success', { timeout: 8 * MINUTE }, async () => {
    const first = await fleet.start({ name: 'e2e-c5', ip: '10.99.0.65' });
    await provisionOnce(first, initDocument(first.site, seeds));
    // A Node of that name, of a machine that is no more. A kubelet would make it its own within seconds, so that the
    // API server is made to refuse what kubelets report: it asks a webhook that is not there.
    const create = (object: object) => first.machine.shell(`${KUBECTL} create -f -`, { input: JSON.stringify(object) });
    await create(nodeOfGoneMachine('e2e-w9'));
    await create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'e2e' },
      webhooks: [
        {
          name: 'nobody.e2e.machineadm.dev',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes/status'] }],
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 1,
        },
      ],
    });
    const worker = await fleet.start({ name: 'e2e-w9', ip: '10.99.0.66' });
    const document = merge(workerDocument(worker.site, seeds, first.machine.ip), attempts(1));
    await worker.lay(merge(document, { kubernetes: { ready: { timeout: '20s' } } }));
    const run = await worker.provision();
    await assertFailed(worker, run, 12, 'readiness', 'NodeIdentityMismatch');
    assert.match(JSON.stringify(run.status.failure), /e2e-w9/);

    await first.machine.shell(`${KUBECTL} delete validatingwebhookconfiguration e2e`);
    await worker.lay(document);
    const again = await worker.provision();
    await assertSucceeded(worker, again);
    assert.equal(again.changes.includes('kubeadm/join'), false, 'what was done is not done again');
    const machineId = (await worker.read('/etc/machine-id'))?.trim();
    const told = await first.machine.shell(`${KUBECTL} get node e2e-w9 -o jsonpath={.status.nodeInfo.machineID}`);
    assert.equal(told, machineId, 'the Node is this machine now');
    await assertNoLeaks(worker, seeds, { run, again });
  });
});
