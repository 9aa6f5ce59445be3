import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildAddons, buildLab, buildNextRelease } from '../../scripts/lab/artefacts.ts';
import { type DocumentTree, initDocument, newSeeds, workerDocument } from '../support/documents.ts';
import { Fleet, LAB, type Node, progress, provisionOnce, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';
import { installPrograms, networked, planUpgrade, UPGRADE, upgrade, upgradeDocument } from '../support/upgrades.ts';

const MINUTE = 60_000;
/** The code of 1.20.2, whose kubeadm takes itself for this release. */
const NEXT = 'v1.21.2';
const AFTER_NEXT = 'v1.22.2';

describe('an upgrade to the next minor version', {
  skip: needs(...LAB, 'MACHINEADM_E2E=all'),
  timeout: 40 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let controlPlane: Node;
  let worker: Node;

  const firstDocument = (): DocumentTree => networked(initDocument(controlPlane.site, seeds), 0);
  const secondDocument = (): DocumentTree => networked(workerDocument(worker.site, seeds, controlPlane.machine.ip), 1);

  const fleet = Fleet.ofSuite(async () => {
    const lab = await buildLab(progress);
    const lower = [await buildNextRelease(lab, { version: NEXT }, progress), await buildAddons(lab, progress)];
    controlPlane = await fleet.start({ name: 'e2e-u7', ip: '10.99.0.87', lower });
    worker = await fleet.start({ name: 'e2e-u8', ip: '10.99.0.88', lower });
    await provisionOnce(controlPlane, firstDocument());
    await provisionOnce(worker, secondDocument());
    for (const node of [controlPlane, worker]) await installPrograms(node);
  });

  const kubectl = (args: string): Promise<string> => controlPlane.kubectl(args);
  const nodeOf = (node: Node, path: string) => kubectl(`get node ${node.site.name} -o jsonpath='{${path}}'`);

  /** Asserts that the plan and the upgrade are refused, because Kubernetes does not support this order of versions. */
  async function assertSkewRefused(node: Node, why: RegExp, ...options: readonly string[]): Promise<void> {
    const { exitCode, problems } = await planUpgrade(node, ...options);
    assert.equal(exitCode, 4);
    const skew = problems.filter(({ code }) => code === 'UpgradeVersionSkew');
    assert.match(skew.map(({ message }) => message).join('\n'), why, JSON.stringify(problems));
    const version = await nodeOf(node, '.status.nodeInfo.kubeletVersion');
    const run = await node.agent([...UPGRADE, ...options]);
    assert.equal(run.exitCode, 4, told(run));
    assert.match(run.stderr, /UpgradeVersionSkew/);
    assert.equal(await nodeOf(node, '.status.nodeInfo.kubeletVersion'), version);
    assert.equal((await node.machine.exec(['ls', '/var/lib/machineadm/upgrade'])).status, 2, 'nothing was begun');
  }

  /** Upgrades a node as it was planned, and then there is nothing left to do. */
  async function upgradeAsPlanned(node: Node, ...options: readonly string[]): Promise<void> {
    const { exitCode, ids, problems } = await planUpgrade(node, ...options);
    assert.deepEqual([exitCode, problems], [0, []]);
    const uid = await nodeOf(node, '.metadata.uid');
    const run = await upgrade(node, ...options);
    assert.equal(run.status.outcome, 'Succeeded', told(run));
    assert.deepEqual([...run.changes].sort(), [...ids].sort(), 'the plan listed what the upgrade did');
    assert.equal(await nodeOf(node, '.status.nodeInfo.kubeletVersion'), NEXT);
    assert.equal(await nodeOf(node, '.metadata.uid'), uid, 'it is the same Node');
    const again = await upgrade(node, ...options);
    assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    assert.deepEqual(await node.plan(), [], 'the document is that of the node now');
    // The snapshot of a control plane is etcd, with every Secret of the cluster: it is looked at elsewhere.
    await node.machine.shell('rm -f /var/lib/machineadm/upgrade/etcd-snapshot.db');
    await assertNoLeaks(node, seeds, { run, again });
  }

  test('a worker is refused before its control plane has the version', async () => {
    await worker.lay(upgradeDocument(secondDocument(), NEXT));
    await assertSkewRefused(worker, /a kubelet must not be newer than the API server/, '--drained');
  });

  test('two minor versions at once are refused', async () => {
    await controlPlane.lay(upgradeDocument(firstDocument(), AFTER_NEXT));
    await assertSkewRefused(controlPlane, /v1\.20\.2 to v1\.22\.2 are more than one minor version/);
    await worker.lay(upgradeDocument(secondDocument(), AFTER_NEXT));
    await assertSkewRefused(worker, /v1\.20\.2 to v1\.22\.2 are more than one minor version/, '--drained');
  });

  test('the control plane gets it, with the images that the new kubeadm lists', { timeout: 12 * MINUTE }, async () => {
    await controlPlane.lay(upgradeDocument(firstDocument(), NEXT));
    await upgradeAsPlanned(controlPlane);
    assert.match(await kubectl('get --raw /version'), /"gitVersion": "v1\.21\.2"/);
    assert.match(
      await kubectl('-n kube-system get configmap kubeadm-config -o jsonpath={.data.ClusterConfiguration}'),
      /kubernetesVersion: v1\.21\.2/,
    );
    // What this kubeadm takes from kubelet-config-1.20, and what it gives to the next minor version.
    assert.equal(
      await kubectl('-n kube-system get configmap kubelet-config-1.21 -o name'),
      'configmap/kubelet-config-1.21',
    );
    const images = await kubectl(
      "-n kube-system get pods -l tier=control-plane -o jsonpath='{.items[*].spec.containers[*].image}'",
    );
    for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      assert.ok(images.includes(`${name}:${NEXT}`), images);
  });

  test('the worker follows', { timeout: 8 * MINUTE }, async () => {
    await worker.lay(upgradeDocument(secondDocument(), NEXT));
    await upgradeAsPlanned(worker, '--drained');
  });
});
