import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { type EtcdPeers, findEtcdPeers, removeOwnMember } from '../../../src/kubernetes/etcd-members.ts';
import { type EtcdMember, type MembershipEvidence, memberIdOfData } from '../../../src/kubernetes/etcd-ownership.ts';
import { kubeconfig, newAuthority, startApiServer } from '../../support/api-server.ts';
import { NOTHING_KNOWN } from '../../support/etcd-members.ts';
import { type EtcdServer, startEtcd } from '../../support/etcd-server.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { shortPauses } from '../../support/short-pauses.ts';

const FIRST = { ID: '11', name: 'node-1', peerURLs: ['https://10.0.0.1:2380'] };
/** A member that was announced and never started has no name. */
const ANNOUNCED = { ID: '9372538179322589801', peerURLs: ['https://10.0.0.2:2380'] };
const PKI = '/etc/kubernetes/pki';

function peersOf(server: EtcdServer): EtcdPeers {
  const { certificate, key } = server.authority.issue('kube-etcd-healthcheck-client');
  return {
    endpoints: ['https://127.0.0.1:1', server.url],
    ownPeerUrl: OWN_URL,
    certificateAuthority: server.authority.certificate,
    certificate,
    key: new Secret(key),
  };
}

const OWN_URL = 'https://10.0.0.2:2380';
/** What this machine knows after a join that was killed right after the announcement. */
const KILLED: MembershipEvidence = { ...NOTHING_KNOWN, announced: true };
const FROM_OUTSIDE = { patienceMs: 0, isOwn: () => false };

describe('the member of a join that died', () => {
  shortPauses();
  test('is removed, found by its address where it never started', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    assert.equal(await removeOwnMember(peersOf(server), KILLED), 'removed');
    assert.deepEqual(server.members, [FIRST]);
    assert.deepEqual(server.removals, [JSON.stringify({ ID: ANNOUNCED.ID })]);
  });

  test('is removed, found by the id that the journal has of it', async () => {
    await using server = await startEtcd([FIRST, { ...ANNOUNCED, name: 'node-2' }]);
    assert.equal(await removeOwnMember(peersOf(server), { ...KILLED, memberId: ANNOUNCED.ID }), 'removed');
    assert.deepEqual(server.members, [FIRST]);
  });

  test('is removed although its announcement is not on record: kubeadm went on when the run was killed', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    const killed = { ...KILLED, announced: false, mayHaveAnnounced: true };
    assert.equal(await removeOwnMember(peersOf(server), killed), 'none', 'it may have had the address before');
    assert.equal(await removeOwnMember(peersOf(server), { ...killed, heldBefore: [ANNOUNCED.ID] }), 'none', 'it had');
    assert.equal(await removeOwnMember(peersOf(server), { ...killed, heldBefore: [] }), 'removed');
  });

  test('that was never announced is nothing to remove', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    assert.equal(await removeOwnMember(peersOf(server), { ...KILLED, announced: false }), 'none');
    assert.deepEqual(server.removals, []);
  });

  test('is unknown if etcd answers with an error, whatever else the answer contains', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED], { status: 500 });
    assert.equal(await removeOwnMember(peersOf(server), KILLED), 'unknown');
    assert.deepEqual(server.removals, []);
  });

  test('that the cluster does not remove is reported with its id in hexadecimal, as etcdctl takes it', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED], { stubborn: true });
    await assert.rejects(removeOwnMember(peersOf(server), KILLED, { patienceMs: 0 }), {
      reason: 'EtcdMemberAlreadyExists',
      retryable: true,
      remedy: /etcdctl member remove 8211f1d0f64f3269/,
    });
  });

  test('that starts while the cluster does not remove it yet is removed again later, and not reported as removed', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED], { stubborn: 'first' });
    assert.equal(await removeOwnMember(peersOf(server), KILLED, { isOwn: () => true }), 'removed');
    assert.deepEqual(server.members, [FIRST]);
    assert.equal(server.removals.length, 2);
  });

  test('is unknown if no member answers', async () => {
    await using server = await startEtcd([]);
    const peers = { ...peersOf(server), endpoints: ['https://127.0.0.1:1'] };
    assert.equal(await removeOwnMember(peers, KILLED), 'unknown');
  });

  test('is not searched for among machines of another authority', async () => {
    await using server = await startEtcd([FIRST, ANNOUNCED]);
    const peers = { ...peersOf(server), certificateAuthority: newAuthority().certificate };
    assert.equal(await removeOwnMember(peers, KILLED), 'unknown');
    assert.deepEqual(server.removals, []);
  });
});

describe('the member of another machine stays', () => {
  shortPauses();
  const LIVE = { ID: '77', name: 'node-2', peerURLs: [OWN_URL] };
  const cases: Readonly<
    Record<string, { readonly member: typeof LIVE; readonly evidence: Partial<MembershipEvidence> }>
  > = {
    'that has the name of this one, and its own address': {
      member: { ...LIVE, peerURLs: ['https://10.0.0.9:2380'] },
      evidence: {},
    },
    'that has the same name and the same address': { member: LIVE, evidence: {} },
    'that has the address which this one was announced with before': { member: LIVE, evidence: { memberId: '76' } },
    "although kubeadm took it for this machine's and etcd took over its id": {
      member: LIVE,
      evidence: { heldBefore: ['77'], dataId: '77', memberId: '77' },
    },
    'although etcd took over its id and nobody saw the announcement': { member: LIVE, evidence: { dataId: '77' } },
    'that is just joining with the same address': {
      member: { ...LIVE, name: '' },
      evidence: { heldBefore: ['77'] },
    },
    'that announced the same address after this one was removed': {
      member: { ...LIVE, name: '' },
      evidence: { memberId: '76' },
    },
    'after NodeNameConflict, whatever else is known': {
      member: { ...LIVE, name: '' },
      evidence: { nameConflict: true, memberId: '77' },
    },
    'whose id is known, but which has another address by now': {
      member: { ...LIVE, peerURLs: ['https://10.0.0.9:2380'] },
      evidence: { memberId: '77' },
    },
  };
  for (const [name, { member, evidence }] of Object.entries(cases)) {
    test(name, async () => {
      await using server = await startEtcd([FIRST, member]);
      const before = structuredClone(server.members);
      assert.equal(await removeOwnMember(peersOf(server), { ...KILLED, ...evidence }, FROM_OUTSIDE), 'none');
      assert.deepEqual([server.members, server.removals], [before, []]);
    });
  }

  test('and is reported where it has the peer URL of this one', async () => {
    await using server = await startEtcd([FIRST, LIVE]);
    const seen: string[] = [];
    const unproven = (members: readonly EtcdMember[]) => void seen.push(...members.map(({ id }) => id));
    assert.equal(await removeOwnMember(peersOf(server), KILLED, { ...FROM_OUTSIDE, unproven }), 'none');
    assert.deepEqual(seen, [LIVE.ID]);
  });

  test('that runs it under an address which this disk, a copy with its journal, does not have', async () => {
    await using server = await startEtcd([FIRST, LIVE], { answersAs: LIVE.ID });
    server.members[1] = { ...LIVE, clientURLs: [server.url] };
    const before = structuredClone(server.members);
    const evidence = { ...KILLED, joined: true, memberId: LIVE.ID };
    assert.equal(await removeOwnMember(peersOf(server), evidence, FROM_OUTSIDE), 'elsewhere');
    assert.deepEqual([server.members, server.removals], [before, []]);
  });
});

describe("this machine's member", () => {
  shortPauses();
  test('is recognised by any spelling of its address', async () => {
    await using server = await startEtcd([FIRST, { ...ANNOUNCED, peerURLs: ['https://[2001:db8:0:0::2]:2380'] }]);
    const peers = { ...peersOf(server), ownPeerUrl: 'https://[2001:DB8::2]:2380' };
    assert.equal(await removeOwnMember(peers, KILLED), 'removed');
  });

  test('is the one whose data is on the disk, once it has joined or the announcement was seen', async () => {
    for (const evidence of [{ joined: true }, { heldBefore: [] }, { founded: true, announced: false }]) {
      await using server = await startEtcd([FIRST, { ...ANNOUNCED, name: 'node-2' }]);
      const told = { ...KILLED, ...evidence, dataId: ANNOUNCED.ID };
      assert.equal(await removeOwnMember(peersOf(server), told, FROM_OUTSIDE), 'removed', JSON.stringify(evidence));
    }
  });

  test('is not named by data that is damaged', async () => {
    const wal = '/var/lib/etcd/member/wal/0000000000000000-0000000000000000.wal';
    for (const content of ['', 'x', '\x08\0\0\0\0\0\0\x80\x08', new Uint8Array(4096).fill(0xff)]) {
      assert.equal(await memberIdOfData(memoryHost({ files: { [wal]: content } }), '/var/lib/etcd'), undefined);
    }
    assert.equal(await memberIdOfData(memoryHost(), '/var/lib/etcd'), undefined);
  });
});

describe('the way to the other members', () => {
  shortPauses();
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
