import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { endOfFailedUpgrade } from '../../../../src/features/upgrade/back.ts';
import { upgradeCertificates } from '../../../../src/features/upgrade/certificates.ts';
import { areCertificatesDue } from '../../../../src/features/upgrade/renewal.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import {
  DAY_MS,
  INTERRUPTED,
  MONTH,
  model,
  type Node,
  RECORD,
  RECORD_PATH,
  run,
  SOON,
  UPGRADE,
} from '../../../support/renewal.ts';
import { ALL_NAMES, renewalNode } from '../../../support/renewal-node.ts';
import { planned } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';

async function checks(node: Node, record: StepRecord = RECORD, asked: Model = MONTH) {
  const desired = upgradeCertificates.desired(asked, facts());
  assert.ok(desired !== undefined);
  const found = (await upgradeCertificates.preflight?.(node.host, desired, record)) ?? [];
  return found.map(({ severity = 'failed', reason, what }) => `${severity} ${reason}: ${what}`);
}

/** What a failed run does after it. */
const back = (node: Node, asked: Model = MONTH) =>
  endOfFailedUpgrade(
    node.host,
    {
      ...{ model: asked, facts: facts(), upgrade: UPGRADE, isOurs: () => false },
      record: (step) => (step === 'upgrade-certificates' ? INTERRUPTED : RECORD),
    },
    { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined },
  );

const mutations = (node: Node) => node.host.log.filter((line) => !line.startsWith('sync '));

describe('certificates that expire soon', () => {
  shortPauses();
  test('are listed with their end, and nothing is changed', async () => {
    await using node = await renewalNode({ days: SOON });
    const [change, ...more] = await planned(upgradeCertificates, node.host, MONTH, { record: RECORD });
    assert.deepEqual(more, []);
    assert.match(
      change?.summary ?? '',
      /^renew 3 certificates: scheduler\.conf \(until 20\d\d-.*Z\), apiserver \(until .*Z\), etcd-server \(until .*Z\), and restart etcd, kube-apiserver, kube-scheduler$/,
    );
    assert.deepEqual(mutations(node), []);
    assert.deepEqual(await checks(node), [
      'warning EtcdQuorumAtRisk: etcd has fewer than three members: the API pauses while the member of this machine restarts',
    ]);
  });

  test('are renewed, exactly these, and their pods restarted in order; a second run has nothing to do', async () => {
    await using node = await renewalNode({ days: SOON });
    const before = node.pki();
    const { left } = await run(node);
    assert.deepEqual(node.renewed, ['scheduler.conf', 'apiserver', 'etcd-server']);
    assert.deepEqual(node.restarts, ['etcd', 'kube-apiserver', 'kube-scheduler']);
    assert.deepEqual(left, []);
    const changed = Object.entries(node.pki()).filter(([path, content]) => before[path] !== content);
    assert.deepEqual(
      changed.map(([path]) => path),
      [
        '/etc/kubernetes/pki/apiserver.crt',
        '/etc/kubernetes/pki/apiserver.key',
        '/etc/kubernetes/pki/etcd/server.crt',
        '/etc/kubernetes/pki/etcd/server.key',
        '/etc/kubernetes/scheduler.conf',
      ],
    );
    assert.equal(node.state.holder, 'node-1', 'other control planes wait until the proof gives the turn back');
    assert.equal(node.host.text(RECORD_PATH), undefined, 'the previous keys are gone');
    assert.ok(node.host.log.includes(`write ${RECORD_PATH} 0600 0:0`));
    assert.equal(await areCertificatesDue(node.host, MONTH), false);
    assert.doesNotMatch(node.host.log.join('\n'), /PRIVATE KEY/);
  });

  test('that nobody keeps in memory need no restart', async () => {
    await using node = await renewalNode({ days: { 'admin.conf': 3, 'etcd-healthcheck-client': 3 } });
    await run(node);
    assert.deepEqual([node.renewed, node.restarts], [['etcd-healthcheck-client', 'admin.conf'], []]);
  });

  test('that have expired already are renewed before the API server is asked', async () => {
    await using node = await renewalNode({ days: { 'admin.conf': -0.0001 } });
    assert.deepEqual(await checks(node), []);
    await run(node);
    assert.deepEqual([node.renewed, node.state.holder], [['admin.conf'], 'node-1']);
  });

  test('are not renewed without the field, by another command, or on a worker', async () => {
    await using node = await renewalNode({ days: SOON });
    const without = model(undefined);
    assert.deepEqual(await planned(upgradeCertificates, node.host, without, { record: RECORD }), []);
    assert.equal(await areCertificatesDue(node.host, without), false);
    const desired = upgradeCertificates.desired(MONTH, facts());
    assert.ok(desired !== undefined);
    assert.equal(upgradeCertificates.idle?.(desired, EMPTY_RECORD), true, 'provision');
    const version = { ...EMPTY_RECORD, upgrade: { ...UPGRADE, subjects: ['version'] } } as const;
    assert.equal(upgradeCertificates.idle?.(desired, version), true, 'an upgrade without it');
    const worker: Model = { ...MONTH, kubernetes: { ...kubernetesModel(), ...MONTH.kubernetes, role: 'Worker' } };
    assert.equal(upgradeCertificates.desired(worker, facts()), undefined);
    assert.deepEqual(await planned(upgradeCertificates, node.host, MONTH, { record: EMPTY_RECORD }), []);
  });
});

describe('certificates that are not kubeadm’s to renew', () => {
  shortPauses();
  test('of an external authority stay, all of them, and a sentence says so', async () => {
    await using node = await renewalNode({ days: { ...SOON, 'front-proxy-client': 1 } });
    node.host.take('/etc/kubernetes/pki/ca.key');
    node.host.take('/etc/kubernetes/pki/etcd/ca.key');
    node.host.take('/etc/kubernetes/pki/front-proxy-ca.key');
    const found = await checks(node);
    assert.equal(found.length, 4);
    for (const line of found)
      assert.match(
        line,
        /^warning CertificatesNotRenewed: the certificate .* expires at .* and is not renewed: the key of .*ca\.crt is not on this machine: whoever has it renews it$/,
      );
    assert.deepEqual(await planned(upgradeCertificates, node.host, MONTH, { record: RECORD }), []);
    assert.equal(await areCertificatesDue(node.host, MONTH), false, 'they are no reason for an upgrade');
    assert.deepEqual(await checks(node, EMPTY_RECORD), found, 'other commands warn, too');
    assert.deepEqual(mutations(node), []);
  });

  test('that the document gives, or another authority has signed, stay', async () => {
    await using node = await renewalNode({ days: { apiserver: 10, 'front-proxy-client': 10 } });
    const other = node.authorities['etcd/ca'].issue('front-proxy-client', undefined, 10);
    node.host.put('/etc/kubernetes/pki/front-proxy-client.crt', other.certificate);
    const file = { path: '/etc/kubernetes/pki/apiserver.crt' } as Model['host']['files'][number];
    const given: Model = { ...MONTH, host: { ...MONTH.host, files: [file] } };
    const found = await checks(node, RECORD, given);
    assert.match(found.join('\n'), /apiserver expires at .* the document gives it/);
    assert.match(found.join('\n'), /front-proxy-client expires at .*\/front-proxy-ca\.crt has not signed it/);
    assert.deepEqual(await planned(upgradeCertificates, node.host, given, { record: RECORD }), []);
  });

  test('with the key of another authority beside it stay', async () => {
    await using node = await renewalNode({ days: { apiserver: 10 } });
    node.host.put('/etc/kubernetes/pki/ca.key', node.authorities['etcd/ca'].key);
    assert.match((await checks(node)).join('\n'), /the key beside .*\/ca\.crt does not belong to it/);
  });
});

describe('a renewal is refused before any change', () => {
  shortPauses();
  test('while another control plane has its turn, and without a quorum of etcd', async () => {
    await using node = await renewalNode({ days: SOON, members: 3, cluster: { holder: 'node-2' } });
    node.etcd.isUp[2] = false;
    const found = await checks(node);
    assert.match(found.join('\n'), /^failed UpgradeLocked: The control plane node-2/m);
    assert.match(found.join('\n'), /^failed EtcdQuorumAtRisk: .*1 of 3 are healthy/m);
    await assert.rejects(run(node), { reason: 'UpgradeLocked' });
    assert.deepEqual([mutations(node), node.restarts], [[], []]);
  });

  test('waits for the quorum of etcd, and fails without it: no pod was restarted', async () => {
    await using node = await renewalNode({ days: SOON, members: 3 });
    node.etcd.isUp[2] = false;
    await assert.rejects(run(node, RECORD, model(30 * DAY_MS, 1)), {
      reason: 'EtcdQuorumAtRisk',
      message: /the static pods of the control plane were not restarted: /,
    });
    assert.deepEqual([mutations(node), node.restarts], [[], []]);
  });
});

describe('a renewal that fails', () => {
  shortPauses();
  test('in kubeadm puts back what was renewed, and restarts nothing', async () => {
    const kubeadm = (name: string) =>
      name === 'apiserver' ? { status: 1, stderr: 'error: the disk is full\n' } : undefined;
    await using node = await renewalNode({ days: SOON, kubeadm });
    const before = node.pki();
    await assert.rejects(run(node), {
      reason: 'CertificatesNotRenewed',
      exit: 'BootstrapperFailed',
      message: /kubeadm certs renew apiserver failed \(exit status 1\)/,
    });
    assert.notDeepEqual(node.pki(), before);
    const end = await back(node);
    assert.deepEqual(end, {
      isBack: true,
      sentences: ['The previous certificates are restored, and the control plane works with them.'],
    });
    assert.deepEqual([node.pki(), node.restarts, node.state.holder], [before, [], undefined]);
  });

  test('because new certificates are valid for too short a time restarts nothing', async () => {
    await using node = await renewalNode({ days: SOON, newDays: 20 });
    await assert.rejects(run(node), {
      reason: 'CertificatesNotRenewed',
      message:
        /the new certificate in \/etc\/kubernetes\/scheduler\.conf is valid until .* only, within kubernetes\.controlPlane\.certificates\.renewBefore/,
    });
    assert.deepEqual(node.restarts, []);
    assert.equal((await back(node)).isBack, true);
  });

  test('because a pod does not come back ends with the previous certificates in all pods', async () => {
    const starts = (component: string, times: number) => component !== 'kube-apiserver' || times !== 1;
    await using node = await renewalNode({ days: SOON, starts });
    const before = node.pki();
    const short = model(30 * DAY_MS, 1);
    await assert.rejects(run(node, RECORD, short), {
      reason: 'CertificatesNotRenewed',
      message: /kube-apiserver did not come back after its restart: the previous kube-apiserver has not ended/,
    });
    assert.deepEqual(node.restarts, ['etcd', 'kube-apiserver']);
    const end = await back(node);
    assert.deepEqual(end.sentences, ['The previous certificates are restored, and the control plane works with them.']);
    assert.deepEqual(node.pki(), before);
    assert.deepEqual(node.restarts, ['etcd', 'kube-apiserver', 'etcd', 'kube-apiserver']);
    assert.equal(node.state.holder, undefined);
    // And then the same command succeeds.
    await run(node);
    assert.deepEqual(await planned(upgradeCertificates, node.host, MONTH, { record: RECORD }), []);
  });

  test('before it began touches nothing, and says so', async () => {
    await using node = await renewalNode({ days: SOON });
    assert.deepEqual(await back(node), {
      isBack: true,
      sentences: ['Nothing of the node was changed before that.'],
    });
  });
});

describe('a renewal that is killed', () => {
  shortPauses();
  class Killed extends Error {}

  test('while kubeadm had written a key and not its certificate: the pair is put back, and renewed', async () => {
    let isKilled = false;
    const kubeadm = (name: string, host: { put(path: string, content: string): void }) => {
      if (name !== 'apiserver' || isKilled) return undefined;
      isKilled = true;
      host.put('/etc/kubernetes/pki/apiserver.key', 'half a key');
      throw new Killed();
    };
    await using node = await renewalNode({ days: { apiserver: 10 }, kubeadm });
    await assert.rejects(run(node), Killed);
    await run(node, INTERRUPTED);
    assert.equal(await areCertificatesDue(node.host, MONTH), false);
    assert.deepEqual(node.restarts, ['kube-apiserver']);
  });

  test('and rebooted between two certificates: pods that started with one old certificate are restarted', async () => {
    let isKilled = false;
    const kubeadm = (name: string) => {
      if (name !== 'front-proxy-client' || isKilled) return undefined;
      isKilled = true;
      throw new Killed();
    };
    await using node = await renewalNode({ days: { apiserver: 10, 'front-proxy-client': 10 }, kubeadm });
    await assert.rejects(run(node), Killed);
    await node.reboot();
    await run(node, INTERRUPTED);
    assert.deepEqual(node.renewed, ['apiserver', 'front-proxy-client']);
    assert.deepEqual(node.restarts, ['kube-apiserver']);
  });
});

test('every certificate of kubeadm is known', async () => {
  await using node = await renewalNode({ days: Object.fromEntries(ALL_NAMES.map((name) => [name, 5])) });
  await run(node);
  assert.deepEqual([...node.renewed].sort(), [...ALL_NAMES].sort());
  assert.deepEqual(node.restarts, ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']);
});
