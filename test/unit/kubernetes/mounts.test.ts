import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nodeMounts } from '../../../src/kubernetes/mounts.ts';

describe('what is mounted below what a reset deletes', () => {
  test("the kubelet's own are unmounted, the inner ones first", () => {
    const volume = '/var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/data';
    const { kubelet, foreign } = nodeMounts(['/', '/var/lib/kubelet/pods/1/volumes', volume, '/proc'], []);
    assert.deepEqual(kubelet, [volume, '/var/lib/kubelet/pods/1/volumes']);
    assert.deepEqual(foreign, []);
  });

  test('anything else there is foreign', () => {
    const { kubelet, foreign } = nodeMounts(
      ['/var/lib/kubelet/backup', '/var/lib/etcd/snapshots', '/var/lib/etcd-disk', '/etc/kubernetes/pki/hsm'],
      ['/var/lib/etcd', '/etc/kubernetes/pki'],
    );
    assert.deepEqual(kubelet, []);
    assert.deepEqual(foreign, ['/var/lib/kubelet/backup', '/var/lib/etcd/snapshots', '/etc/kubernetes/pki/hsm']);
  });

  test("a disk of the node's own, mounted at such a directory, is neither", () => {
    assert.deepEqual(nodeMounts(['/var/lib/kubelet', '/var/lib/etcd'], ['/var/lib/etcd']), {
      kubelet: [],
      foreign: [],
    });
  });
});
