import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { openQueryHost } from '../../../src/host/index.ts';
import { removeOwnMember } from '../../../src/kubernetes/etcd-members.ts';
import { type MembershipEvidence, memberIdOfData } from '../../../src/kubernetes/etcd-ownership.ts';
import { agent } from '../../support/agent.ts';
import { type ApiServer, kubeconfig, newAuthority, nodeObject, startApiServer } from '../../support/api-server.ts';
import { toYaml } from '../../support/documents.ts';
import { type EtcdCluster, type Member, startEtcdCluster } from '../../support/etcd-cluster.ts';
import { NOTHING_KNOWN } from '../../support/etcd-members.ts';
import { EVERY_KILL, killPoints } from '../../support/kill-points.ts';
import { installStandIn, put, STATE, standInDocument } from '../../support/kubeadm-stand-in.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { provision } from '../../support/provision.ts';

const DOCUMENT = '/tmp/document.yaml';
const JOURNAL = '/var/lib/machineadm/journal';
const PROVISION = ['provision', '-d', DOCUMENT, '-o', 'json'] as const;
const LIVE = { 'node-1': '127.0.1.1', 'node-2': '127.0.1.2', 'node-3': '127.0.1.3' } as const;
/** This machine's address. */
const OWN = '127.0.1.4';
const NO_PATIENCE = { patienceMs: 0, isOwn: () => true };

const withoutTimes = (members: readonly Member[]) => members.map(({ ID, name, peerURLs }) => ({ ID, name, peerURLs }));

inThrowAwayMachine(import.meta.filename, () => {
  describe('three control planes on real etcd', {
    skip: needs('the Kubernetes of the lab (npm run lab -- build)', 'ip'),
  }, () => {
    let cluster: EtcdCluster;
    let live: readonly Member[] = [];
    before(async () => {
      execFileSync('ip', ['address', 'add', `${OWN}/32`, 'dev', 'lo']);
      cluster = await startEtcdCluster(LIVE);
      live = withoutTimes(await cluster.members());
      assert.equal(live.length, 3);
    });
    after(async () => cluster?.[Symbol.asyncDispose]());
    const assertAllThere = async (when: string): Promise<void> =>
      assert.deepEqual(withoutTimes(await cluster.members()), live, when);
    const memberOf = (name: keyof typeof LIVE): Member => {
      const found = live.find((member) => member.name === name);
      assert.ok(found !== undefined);
      return found;
    };

    test('the data directory of a member identifies it', async () => {
      for (const [name, address] of Object.entries(LIVE)) {
        const id = await memberIdOfData(openQueryHost(), cluster.dataDirectory(address));
        assert.equal(id, live.find((member) => member.name === name)?.ID);
      }
    });

    test('a machine with the name or the address of one of them removes none, whatever it knows', async () => {
      const theirs = memberOf('node-2');
      const everything = { ...NOTHING_KNOWN, announced: true, memberId: theirs.ID, dataId: theirs.ID };
      const cases: Readonly<Record<string, readonly [address: string, Partial<MembershipEvidence>]>> = {
        'the same name, another address': [OWN, { announced: true }],
        'the same address': [LIVE['node-2'], {}],
        'the same address, announced as kubeadm since 1.32 says it': [LIVE['node-2'], { announced: true }],
        'the same address and id': [LIVE['node-2'], { ...everything, heldBefore: [theirs.ID] }],
        'the same id, another address': [OWN, everything],
        NodeNameConflict: [LIVE['node-2'], { ...everything, nameConflict: true }],
      };
      for (const [name, [address, evidence]] of Object.entries(cases)) {
        const left = await removeOwnMember(cluster.peersFor(address), { ...NOTHING_KNOWN, ...evidence }, NO_PATIENCE);
        assert.equal(left, 'none', name);
        await assertAllThere(name);
      }
    });

    test('a copy of one of them, with its journal and its data, removes none', async () => {
      const theirs = memberOf('node-2');
      const evidence = { ...NOTHING_KNOWN, announced: true, joined: true, memberId: theirs.ID, dataId: theirs.ID };
      const peers = cluster.peersFor(LIVE['node-2']);
      assert.equal(await removeOwnMember(peers, evidence, { patienceMs: 0, isOwn: () => false }), 'elsewhere');
      await assertAllThere('a copied disk');
    });

    test('a member that never started is removed by the machine that announced it', async () => {
      const announced = await cluster.announce(OWN);
      const evidence = { ...NOTHING_KNOWN, announced: true };
      assert.equal(
        await removeOwnMember(cluster.peersFor(OWN), { ...evidence, heldBefore: [announced.ID] }, NO_PATIENCE),
        'none',
        'another had the address before',
      );
      assert.equal(
        await removeOwnMember(cluster.peersFor(OWN), { ...evidence, memberId: '1' }, NO_PATIENCE),
        'none',
        'another announced it again',
      );
      assert.equal(await removeOwnMember(cluster.peersFor(OWN), evidence, { isOwn: () => true }), 'removed');
      await assertAllThere('after the removal');
    });

    test('a member that started is removed by the machine that has its data', async () => {
      const announced = await cluster.announce(OWN);
      await cluster.start('node-4', OWN);
      const dataId = await memberIdOfData(openQueryHost(), cluster.dataDirectory(OWN));
      assert.equal(dataId, announced.ID);
      await cluster.stop(OWN);
      const evidence = { ...NOTHING_KNOWN, announced: true, dataId };
      assert.equal(await removeOwnMember(cluster.peersFor(OWN), evidence, NO_PATIENCE), 'none', 'it may be a copy');
      const joined = { ...evidence, heldBefore: [] };
      assert.equal(await removeOwnMember(cluster.peersFor(OWN), joined, { isOwn: () => true }), 'removed');
      await assertAllThere('after the removal');
    });

    test('a member that was removed, and whose address another machine has by now, is nothing to remove', async () => {
      const first = await cluster.announce(OWN);
      await cluster.remove(first.ID);
      const second = await cluster.announce(OWN);
      assert.notEqual(second.ID, first.ID, 'ids are never used again');
      const evidence = { ...NOTHING_KNOWN, announced: true, memberId: first.ID };
      assert.equal(await removeOwnMember(cluster.peersFor(OWN), evidence, NO_PATIENCE), 'none');
      assert.ok((await cluster.members()).some(({ ID }) => ID === second.ID));
      await cluster.remove(second.ID);
      await assertAllThere('at the end');
    });

    describe('a join that fails', () => {
      const authority = newAuthority();
      let api: ApiServer;
      before(async () => {
        const pods = Object.values(LIVE).map((address) => ({
          metadata: { annotations: { 'kubeadm.kubernetes.io/etcd.advertise-client-urls': `https://${address}:2379` } },
        }));
        // The Node of this name is another machine's.
        const objects = (path: string): object =>
          path.includes('/pods?') ? { items: pods } : nodeObject({ ready: 'True', machineID: 'f'.repeat(32) });
        api = await startApiServer(authority, objects);
        installStandIn();
      });
      after(async () => api?.[Symbol.asyncDispose]());

      beforeEach(fresh);
      function fresh(): void {
        for (const path of ['/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/var/lib/machineadm', STATE]) {
          rmSync(path, { recursive: true, force: true });
        }
        const kubernetes = `${STATE}/files/etc/kubernetes`;
        const pki = `${kubernetes}/pki/etcd`;
        put(`${pki}/ca.crt`, cluster.authority.certificate);
        put(`${pki}/healthcheck-client.crt`, cluster.client.certificate);
        put(`${pki}/healthcheck-client.key`, cluster.client.key);
        put(
          `${kubernetes}/admin.conf`,
          kubeconfig(api.url, authority.certificate, authority.issue('kubernetes-admin')),
        );
        put(
          `${kubernetes}/kubelet.conf`,
          kubeconfig(api.url, authority.certificate, authority.issue('system:node:node-2')),
        );
        put(`${kubernetes}/manifests/kube-apiserver.yaml`, `    - --advertise-address=${OWN}\n`);
        put(`${STATE}/control-plane`, '');
        put(`${STATE}/etcd`, `${LIVE['node-1']} ${OWN}\n`);
        lay();
      }

      function lay(): void {
        const document = standInDocument('node-2', 'JoinControlPlane', {
          bootstrapper: {
            kubeadm: {
              retry: { attempts: 1, backoff: '1s' },
              // The members of this test share a network.
              ignorePreflightErrors: ['Port-2379', 'Port-2380'],
            },
          },
          controlPlane: { apiEndpoint: { advertiseAddress: OWN } },
          timeouts: { overall: '2m' },
        });
        writeFileSync(DOCUMENT, toYaml(document));
      }
      const fail = (how: string): void => put(`${STATE}/fail`, how);
      const kinds = (): string[] =>
        readFileSync(JOURNAL, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).is);

      test('because a Node has its name leaves the member of that name, in each run', async () => {
        for (const run of ['first', 'second', 'third']) {
          fail('kubelet-start conflict');
          const { exitCode, failure } = await provision(DOCUMENT);
          assert.deepEqual(
            [exitCode, failure?.step, failure?.reason],
            [11, 'kubeadm', 'NodeNameConflict'],
            failure?.summary,
          );
          await assertAllThere(`after the ${run} run`);
        }
      });

      test('after it was announced is remembered with its id, and the next run removes that member only', async () => {
        fail('wait-control-plane old');
        assert.equal((await provision(DOCUMENT)).exitCode, 11);
        const note = readFileSync(JOURNAL, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
          .findLast(({ is }) => is === 'note')?.note;
        const announced = (await cluster.members()).find(({ name }) => name === undefined || name === '');
        assert.deepEqual(
          [note.etcdMemberAnnounced, note.etcdPeerUrl, note.etcdHeldBefore, note.etcdMemberId],
          [true, `https://${OWN}:2380`, [], announced?.ID],
        );
        fail('preflight new');
        const second = await provision(DOCUMENT);
        assert.deepEqual([second.exitCode, second.failure?.step], [11, 'kubeadm'], second.failure?.summary);
        await assertAllThere('after the second run');
      });

      test('cannot give its member back while no other answers: nothing is deleted that leads to them', async () => {
        fail('wait-control-plane old');
        assert.equal((await provision(DOCUMENT)).exitCode, 11);
        const announced = (await cluster.members()).find(({ name }) => name === undefined || name === '');
        put(`${STATE}/pods-away`, '');
        const certificate = '/etc/kubernetes/pki/etcd/healthcheck-client.crt';
        const whole = readFileSync(certificate, 'utf8');
        // A certificate that the others do not accept any more is as good as a network that does not lead to them.
        const { certificate: foreign, key } = newAuthority('another').issue('kube-etcd-healthcheck-client');
        put(certificate, foreign);
        const keyPath = certificate.replace(/crt$/, 'key');
        const wholeKey = readFileSync(keyPath, 'utf8');
        put(keyPath, key);
        const { exitCode, failure } = await provision(DOCUMENT);
        assert.deepEqual(
          [exitCode, failure?.step, failure?.reason],
          [11, 'kubeadm-reset', 'EtcdMemberAlreadyExists'],
          failure?.summary,
        );
        assert.ok(existsSync('/etc/kubernetes/admin.conf') && existsSync(certificate));
        put(certificate, whole);
        put(keyPath, wholeKey);
        fail('preflight new');
        assert.equal((await provision(DOCUMENT)).failure?.step, 'kubeadm');
        await assertAllThere(`without ${announced?.ID}`);
      });

      test('killed at any record of the journal, leaves the others as they were once the next run has ended', {
        skip: needs('strace'),
      }, async () => {
        const strace = (nth: number) =>
          `strace -f -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:signal=SIGKILL:when=${nth}`.split(' ');
        fail('wait-control-plane old');
        assert.equal((await provision(DOCUMENT)).exitCode, 11);
        const records = kinds();
        // Each kill is a process of its own: from the start of kubeadm on, or at all records.
        const begun = EVERY_KILL ? 0 : records.lastIndexOf('started');
        const points = killPoints(records.length - 1 - begun, 4).map((point) => begun + point);
        fail('preflight new');
        await provision(DOCUMENT);
        await assertAllThere('before the kills');
        for (const nth of points) {
          fresh();
          fail('wait-control-plane old');
          await agent(PROVISION, { wrapper: strace(nth) });
          fail('preflight new');
          const second = await provision(DOCUMENT);
          assert.deepEqual([second.exitCode, second.failure?.step], [11, 'kubeadm'], second.failure?.summary);
          await assertAllThere(`killed at record ${nth}`);
        }
      });
    });

    test('that have lost their quorum lose no member, and the one that cannot go is named', async () => {
      const announced = await cluster.announce(OWN);
      const before = withoutTimes(await cluster.members());
      await cluster.stop(LIVE['node-1']);
      await cluster.stop(LIVE['node-2']);
      const evidence = { ...NOTHING_KNOWN, announced: true, memberId: announced.ID };
      await assert.rejects(removeOwnMember(cluster.peersFor(OWN), evidence, NO_PATIENCE), {
        reason: 'EtcdMemberAlreadyExists',
        message: new RegExp(BigInt(announced.ID).toString(16)),
      });
      assert.deepEqual(withoutTimes(await cluster.members()), before);
    });
  });
});
