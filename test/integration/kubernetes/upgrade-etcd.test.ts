import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { localEtcd } from '../../../src/kubernetes/local-etcd.ts';
import { quorumOf } from '../../../src/kubernetes/upgrade/check-machine.ts';
import { takeSnapshot } from '../../../src/kubernetes/upgrade/etcd-snapshot.ts';
import { type EtcdCluster, startEtcdCluster } from '../../support/etcd-cluster.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { etcdCertificates, etcdManifest } from '../../support/upgrade-etcd.ts';

const MEMBERS = { 'node-1': '127.0.1.1', 'node-2': '127.0.1.2', 'node-3': '127.0.1.3' } as const;
const SNAPSHOT = '/var/lib/machineadm/upgrade/etcd-snapshot.db';

inThrowAwayMachine(import.meta.filename, () => {
  describe('an upgrade of a control plane with real etcd', {
    skip: needs('the Kubernetes of the lab (npm run lab -- build)'),
  }, () => {
    let cluster: EtcdCluster;
    before(async () => {
      cluster = await startEtcdCluster(MEMBERS);
    });
    after(async () => cluster?.[Symbol.asyncDispose]());

    const hostOf = (name: keyof typeof MEMBERS) => {
      const address = MEMBERS[name];
      const urls = { clientUrl: `https://${address}:2379`, peerUrl: `https://${address}:2380` };
      return memoryHost({
        files: {
          '/etc/kubernetes/manifests/etcd.yaml': etcdManifest({ name, ...urls }),
          ...etcdCertificates(cluster.authority.certificate, cluster.client),
        },
      });
    };

    test('may stop the member of each machine while the two others are healthy', async () => {
      for (const name of ['node-1', 'node-2', 'node-3'] as const) {
        const { obstacle, outlook } = await quorumOf(hostOf(name));
        assert.equal(obstacle, undefined, name);
        assert.equal(outlook?.members, 3);
        assert.ok((outlook?.size ?? 0) > 0);
      }
    });

    test('keeps a snapshot with the digest that etcd sent', async () => {
      const host = hostOf('node-1');
      const command = ['etcd', '--listen-client-urls=https://127.0.1.1:2379'];
      const etcd = await localEtcd(host, {
        command: [...command, '--initial-advertise-peer-urls=https://127.0.1.1:2380'],
      });
      assert.ok(etcd !== undefined);
      const snapshot = await takeSnapshot(host, etcd, SNAPSHOT, new AbortController().signal);
      assert.match(snapshot.sha256, /^[0-9a-f]{64}$/);
      assert.equal((await host.stat(SNAPSHOT))?.size, snapshot.size);
    });

    test('must not stop a second member: without it etcd would lose its quorum', async () => {
      await cluster.stop(MEMBERS['node-3']);
      for (const name of ['node-1', 'node-2'] as const) {
        const { obstacle } = await quorumOf(hostOf(name));
        assert.equal(obstacle?.reason, 'EtcdQuorumAtRisk');
        assert.match(obstacle.what, /node-3 does not answer: without .* 1 of 3 are healthy, and a quorum is 2/);
      }
    });
  });
});
