import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '../../../src/document/secret.ts';
import { type EtcdPeers, findEtcdPeers, removeOwnMember } from '../../../src/kubernetes/etcd-members.ts';
import { kubeconfig, newAuthority, startApiServer } from '../../support/api-server.ts';
import { type EtcdServer, startEtcd } from '../../support/etcd-server.ts';
import { memoryHost } from '../../support/memory-host.ts';

const FIRST = { ID: '11', name: 'node-1', peerURLs: ['https://10.0.0.1:2380'] };
/** A member that was announced and never started has no name. */
const ANNOUNCED = { ID: '9372538179322589801', peerURLs: ['https://10.0.0.2:2380'] };
const PKI = '/etc/kubernetes/pki';

function peersOf(server: EtcdServer): EtcdPeers {
  const { certificate, key } = server.authority.issue('kube-etcd-healthcheck-client');
  return {
    endpoints: ['https://127.0.0.1:1', server.url],
    ownPeerUrl: 'https://10.0.0.2:2380',
    certificateAuthority: server.authority.certificate,
    certificate,
    key: new Secret(key),
  };
}

describe('the member of a join that died', () => {
  test('is taken out of the cluster, found by its address where it never started', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    assert.equal(await removeOwnMember(peersOf(server), 'node-2'), 'removed');
    assert.deepEqual(server.members, [FIRST]);
    assert.deepEqual(server.removals, [JSON.stringify({ ID: ANNOUNCED.ID })]);
  });

  test('is found by its name where its address has changed', async () => {
    await using server = await startEtcd([FIRST, { ID: '12', name: 'node-2', peerURLs: ['https://10.0.0.9:2380'] }]);
    assert.equal(await removeOwnMember(peersOf(server), 'node-2'), 'removed');
    assert.deepEqual(server.members, [FIRST]);
  });

  test('that was never announced is nothing to remove', async () => {
    await using server = await startEtcd([FIRST]);
    assert.equal(await removeOwnMember(peersOf(server), 'node-2'), 'none');
    assert.deepEqual(server.removals, []);
  });

  test('that the cluster does not let go is told with its id in hexadecimal, as etcdctl takes it', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED], { stubborn: true });
    await assert.rejects(removeOwnMember(peersOf(server), 'node-2', undefined, 0), {
      reason: 'EtcdMemberAlreadyExists',
      retryable: true,
      remedy: /etcdctl member remove 8211f1d0f64f3269/,
    });
  });

  test('is unknown where nobody answers', async () => {
    await using server = await startEtcd([]);
    const peers = { ...peersOf(server), endpoints: ['https://127.0.0.1:1'] };
    assert.equal(await removeOwnMember(peers, 'node-2'), 'unknown');
  });

  test('is not looked for among machines of another authority', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    const peers = { ...peersOf(server), certificateAuthority: newAuthority().certificate };
    assert.equal(await removeOwnMember(peers, 'node-2'), 'unknown');
    assert.deepEqual(server.removals, []);
  });
});

describe('the way to the other members', () => {
  const CERTIFICATES = {
    [`${PKI}/etcd/ca.crt`]: 'ca',
    [`${PKI}/etcd/healthcheck-client.crt`]: 'certificate',
    [`${PKI}/etcd/healthcheck-client.key`]: 'key',
  };

  test('is what the API server says of the pods of etcd', async () => {
    const authority = newAuthority();
    const annotations = (address: string) => ({
      metadata: { annotations: { 'kubeadm.kubernetes.io/etcd.advertise-client-urls': `https://${address}:2379` } },
    });
    await using server = await startApiServer(authority, () => ({
      items: [annotations('10.0.0.1'), annotations('10.0.0.2')],
    }));
    const host = memoryHost({
      files: {
        ...CERTIFICATES,
        '/etc/kubernetes/admin.conf': kubeconfig(server.url, authority.certificate, authority.issue('admin')),
        '/etc/kubernetes/manifests/kube-apiserver.yaml': 'command:\n    - --advertise-address=10.0.0.2\n',
      },
    });
    const peers = await findEtcdPeers(host, PKI, undefined);
    assert.deepEqual(peers?.endpoints, ['https://10.0.0.1:2379'], 'its own is not asked');
    assert.equal(peers?.ownPeerUrl, 'https://10.0.0.2:2380');
  });

  test("is the manifest's own list where no API server answers", async () => {
    const manifest =
      '    - --initial-advertise-peer-urls=https://10.0.0.2:2380\n    - --initial-cluster=node-1=https://10.0.0.1:2380,node-2=https://10.0.0.2:2380\n';
    const host = memoryHost({ files: { ...CERTIFICATES, '/etc/kubernetes/manifests/etcd.yaml': manifest } });
    const peers = await findEtcdPeers(host, PKI, undefined);
    assert.deepEqual(peers?.endpoints, ['https://10.0.0.1:2379']);
  });

  test('does not exist before the certificates of etcd do', async () => {
    assert.equal(await findEtcdPeers(memoryHost(), PKI, '10.0.0.2'), undefined);
  });
});
