import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clusterObstacles, stepObstacle } from '../../../../src/kubernetes/upgrade/check-versions.ts';
import { clusterConfiguration, ownCredential } from '../../../../src/kubernetes/upgrade/cluster.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { type ClusterState, upgradeCluster } from '../../../support/upgrade-cluster.ts';

describe('the step from one version to another', () => {
  for (const [from, to, refusal] of [
    ['v1.35.2', 'v1.35.3', undefined],
    ['v1.35.2', 'v1.36.0', undefined],
    ['v1.35.2', 'v1.37.0', /more than one minor version/],
    ['v1.35.2', 'v2.0.0', /more than one minor version/],
    ['v1.36.0', 'v1.35.9', /is older/],
    ['v1.35.3', 'v1.35.2', /is older/],
  ] as const) {
    test(`${from} -> ${to}: ${refusal === undefined ? 'allowed' : 'refused'}`, () => {
      const found = stepObstacle({ from, to });
      if (refusal === undefined) assert.equal(found, undefined);
      else {
        assert.equal(found?.reason, 'UpgradeVersionSkew');
        assert.match(found?.what ?? '', refusal);
      }
    });
  }
});

async function obstacles(
  isControlPlane: boolean,
  to: string,
  different: Partial<ClusterState>,
  ignored: readonly string[] = [],
) {
  await using cluster = await upgradeCluster(different);
  const credential = await ownCredential(memoryHost({ files: cluster.files }), isControlPlane);
  const configuration = await clusterConfiguration(credential);
  const order = { from: 'v1.35.2', to, nodeName: 'node-1', isControlPlane, hasLocalEtcd: isControlPlane, ignored };
  const found = await clusterObstacles(credential, configuration, order);
  assert.deepEqual(cluster.state.changes, [], 'a check changes nothing');
  const expected = different.ready === 'False' ? 'NodeNotReady' : 'UpgradeVersionSkew';
  assert.ok(found.every(({ reason }) => reason === expected));
  return found.map(({ what }) => what);
}

describe('a control plane', () => {
  test('may be the first of a new minor version', async () => {
    assert.deepEqual(await obstacles(true, 'v1.36.0', {}), []);
  });

  test('is refused while the cluster is two minor versions older', async () => {
    assert.match(
      (await obstacles(true, 'v1.36.0', { version: 'v1.34.1' })).join(),
      /more than one minor version newer/,
    );
  });

  test('is refused if the cluster is newer already', async () => {
    assert.match(
      (await obstacles(true, 'v1.35.3', { version: 'v1.36.0' })).join(),
      /newer than 1\.35\.3|newer than v1\.35\.3/,
    );
  });

  test('is refused while another node has a kubelet that is too old for it', async () => {
    const kubelets = { 'node-1': 'v1.35.2', 'node-2': 'v1.32.9', 'node-3': 'v1.33.0' };
    assert.match((await obstacles(true, 'v1.36.0', { kubelets })).join(), /^node-2 \(v1\.32\.9\): /);
  });
});

describe('a control plane of a cluster with one that is not Ready', () => {
  const different = { ready: 'False' } as const;

  test('is refused before kubeadm would do it, unless that check is to be skipped', async () => {
    assert.match((await obstacles(true, 'v1.35.3', different)).join(), /^kubeadm upgrades no cluster .*: node-1 \(/);
    assert.deepEqual(await obstacles(true, 'v1.35.3', different, ['controlplanenodesReady']), []);
    assert.deepEqual(await obstacles(true, 'v1.35.3', different, ['all']), []);
  });

  test('may follow: kubeadm does not check it then', async () => {
    assert.deepEqual(await obstacles(true, 'v1.35.3', { ...different, version: 'v1.35.3' }), []);
  });
});

describe('a worker', () => {
  test('is refused before the control plane', async () => {
    const [what = ''] = await obstacles(false, 'v1.36.0', {});
    assert.match(what, /must not be newer than the API server/);
    assert.match(what, /kubeadm-config\) has v1\.35\.2/);
  });

  test('may follow it, also in a patch release', async () => {
    assert.deepEqual(await obstacles(false, 'v1.36.1', { version: 'v1.36.0', serving: 'v1.36.0' }), []);
  });

  test('is refused while the API server that answers is an old one behind a load balancer', async () => {
    assert.match((await obstacles(false, 'v1.36.0', { version: 'v1.36.0' })).join(), /that answers has v1\.35\.2/);
  });
});
