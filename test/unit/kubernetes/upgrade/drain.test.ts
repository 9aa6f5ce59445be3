import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ownCredential } from '../../../../src/kubernetes/upgrade/cluster.ts';
import { drainNode, evict, podsToEvict, setUnschedulable } from '../../../../src/kubernetes/upgrade/drain.ts';
import { leaseHolder, releaseLease, takeLease } from '../../../../src/kubernetes/upgrade/lease.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { shortPauses } from '../../../support/short-pauses.ts';
import { type ClusterState, pod, upgradeCluster } from '../../../support/upgrade-cluster.ts';

const signal = new AbortController().signal;

async function clusterWith(different: Partial<ClusterState>) {
  const cluster = await upgradeCluster(different);
  const host = memoryHost({ files: cluster.files });
  return {
    ...cluster,
    admin: await ownCredential(host, true),
    kubelet: await ownCredential(host, false),
  };
}

test('a drain leaves static pods and those of DaemonSets', async () => {
  const pods = [
    pod('web'),
    pod('etcd-node-1', { mirror: 'hash', owner: 'Node' }),
    pod('kube-proxy', { owner: 'DaemonSet' }),
    pod('lonely', { owner: 'none' }),
    pod('ended', { owner: 'none', phase: 'Succeeded' }),
    pod('cache', { emptyDir: 'tmp' }),
  ];
  await using cluster = await clusterWith({ pods });
  const found = await podsToEvict(cluster.admin, 'node-1');
  assert.deepEqual(
    found.map(({ name, isManaged, hasEmptyDir }) => [name, isManaged, hasEmptyDir]),
    [
      ['default/web', true, false],
      ['default/lonely', false, false],
      ['default/ended', true, false],
      ['default/cache', true, true],
    ],
  );
});

describe('an eviction', () => {
  shortPauses();
  test('in a dry run changes nothing', async () => {
    await using cluster = await clusterWith({ pods: [pod('web')] });
    const found = await evict(cluster.admin, { name: 'default/web', uid: 'uid-web' }, { minor: 35, dryRun: true });
    assert.equal(found, undefined);
    assert.equal(cluster.state.pods.length, 1);
  });

  test('that a PodDisruptionBudget forbids is DrainNotPossible after the deadline, and names the pod', async () => {
    await using cluster = await clusterWith({ pods: [pod('web')], refusesEviction: () => 429 });
    const waits: (string | undefined)[] = [];
    const options = {
      minor: 35,
      timeoutMs: 0,
      signal,
      waitingFor: (what: string | undefined) => void waits.push(what),
    };
    await assert.rejects(drainNode(cluster.admin, 'node-1', options), {
      reason: 'DrainNotPossible',
      exit: 'HostStepFailed',
      message: /default\/web/,
    });
    assert.match(waits.join(), /1 pods to leave this node|one pod to leave this node/);
  });

  test('of all pods ends when they are gone', async () => {
    await using cluster = await clusterWith({ pods: [pod('web'), pod('db')] });
    await drainNode(cluster.admin, 'node-1', { minor: 35, timeoutMs: 60_000, signal, waitingFor: () => undefined });
    assert.deepEqual(cluster.state.pods, []);
  });
});

test('a kubelet may not cordon its Node, an administrator may', async () => {
  await using cluster = await clusterWith({});
  await assert.rejects(setUnschedulable(cluster.kubelet, 'node-1', true), /403/);
  await setUnschedulable(cluster.admin, 'node-1', true);
  assert.equal(cluster.state.unschedulable, true);
  await setUnschedulable(cluster.admin, 'node-1', false);
  assert.equal(cluster.state.unschedulable, false);
});

describe('the Lease of upgrades', () => {
  shortPauses();
  test('is created once, and kept by the node that has it after a kill', async () => {
    await using cluster = await clusterWith({});
    await takeLease(cluster.admin, 'node-1', signal);
    await takeLease(cluster.admin, 'node-1', signal);
    assert.equal(await leaseHolder(cluster.admin), 'node-1');
    assert.equal(await releaseLease(cluster.admin, 'node-1', signal), undefined);
    assert.equal(cluster.state.holder, undefined);
  });

  test('of another control plane is UpgradeLocked, and stays', async () => {
    await using cluster = await clusterWith({ holder: 'node-2' });
    await assert.rejects(takeLease(cluster.admin, 'node-1', signal), { reason: 'UpgradeLocked', message: /node-2/ });
    assert.equal(await releaseLease(cluster.admin, 'node-1', signal), undefined);
    assert.equal(cluster.state.holder, 'node-2');
  });
});
