import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MembershipWitness } from '../../../../src/kubernetes/kubeadm/membership.ts';
import { kubeconfig, newAuthority, startApiServer } from '../../../support/api-server.ts';
import { type EtcdServer, startEtcd } from '../../../support/etcd-server.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const PKI = '/etc/kubernetes/pki';
const OWN = 'https://10.0.0.2:2380';
const FIRST = { ID: '11', name: 'node-1', peerURLs: ['https://10.0.0.1:2380'] };

/** A joining machine of the address 10.0.0.2, whose kubeadm is as far as `steps` says, with a cluster as it is then. */
async function witnessed(
  server: EtcdServer,
  work: (witness: MembershipWitness, until: (what: () => boolean) => Promise<void>) => Promise<void>,
) {
  const authority = newAuthority();
  const annotations = { 'kubeadm.kubernetes.io/etcd.advertise-client-urls': server.url };
  await using api = await startApiServer(authority, () => ({ items: [{ metadata: { annotations } }] }));
  const { certificate, key } = server.authority.issue('kube-etcd-healthcheck-client');
  const host = memoryHost({
    files: {
      [`${PKI}/etcd/ca.crt`]: server.authority.certificate,
      [`${PKI}/etcd/healthcheck-client.crt`]: certificate,
      [`${PKI}/etcd/healthcheck-client.key`]: key,
      '/etc/kubernetes/admin.conf': kubeconfig(api.url, authority.certificate, authority.issue('admin')),
      '/etc/kubernetes/manifests/kube-apiserver.yaml': '    - --advertise-address=10.0.0.2\n',
    },
  });
  let learned = 0;
  const where = { certificatesDirectory: PKI, advertiseAddress: undefined };
  const witness = new MembershipWitness(host, where, new AbortController().signal, () => {
    learned += 1;
  });
  await work(witness, (isSo) => waitUntil(isSo, 'it is seen'));
  await witness.close();
  return { facts: witness.facts, learned };
}

const CHECKING = { lastPhase: 'check-etcd', etcdMemberAnnounced: false };
const ANNOUNCED = { lastPhase: 'etcd', etcdMemberAnnounced: true };

describe('the observation of a join in etcd', () => {
  test('has the previous owner of the peer URL, and the id of the new member', async () => {
    await using server = await startEtcd([FIRST]);
    const { facts, learned } = await witnessed(server, async (witness, until) => {
      witness.observe(CHECKING);
      await until(() => witness.facts.etcdHeldBefore !== undefined);
      server.members.push({ ID: '12', name: 'node-2', peerURLs: [OWN] });
      witness.observe(ANNOUNCED);
      await until(() => witness.facts.etcdMemberId !== undefined);
    });
    assert.deepEqual(facts, { etcdPeerUrl: OWN, etcdHeldBefore: [], etcdMemberId: '12' });
    assert.equal(learned, 2);
  });

  test('is never the member that had the peer URL before: kubeadm since 1.32 takes it for its own', async () => {
    await using server = await startEtcd([FIRST, { ID: '77', name: 'other', peerURLs: [OWN] }]);
    using clock = fakeClock();
    const { facts } = await witnessed(server, async (witness, until) => {
      witness.observe(CHECKING);
      await until(() => witness.facts.etcdHeldBefore !== undefined);
      witness.observe(ANNOUNCED);
      await until(() => clock.pauses.length > 0);
    });
    assert.deepEqual(facts, { etcdPeerUrl: OWN, etcdHeldBefore: ['77'] });
  });

  test('is a member without a name only if there was no observation before the announcement', async () => {
    await using server = await startEtcd([FIRST, { ID: '77', name: 'other', peerURLs: [OWN] }]);
    using clock = fakeClock();
    const { facts } = await witnessed(server, async (witness, until) => {
      witness.observe(ANNOUNCED);
      await until(() => clock.pauses.length > 0);
    });
    assert.deepEqual(facts, {});
  });

  test('is empty if no member answers, which prevents nothing', async () => {
    const server = await startEtcd([FIRST]);
    const { facts } = await witnessed(server, async (witness) => {
      await server[Symbol.asyncDispose]();
      witness.observe(CHECKING);
      witness.observe(ANNOUNCED);
    });
    assert.deepEqual(facts, {});
  });
});
