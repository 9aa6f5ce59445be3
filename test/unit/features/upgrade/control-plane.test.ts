import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { endOfFailedUpgrade } from '../../../../src/features/upgrade/back.ts';
import { upgradeControlPlane } from '../../../../src/features/upgrade/control-plane.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import type { Upgrade } from '../../../../src/step/upgrade-order.ts';
import { type ControlPlaneNode, controlPlaneNode } from '../../../support/control-plane-node.ts';
import { CHANGE, model, NONE, RECORD, recordOf, V4 } from '../../../support/control-plane-settings.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubeadmDiff } from '../../../support/kubeadm-diff.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';

const KEPT = '/var/lib/machineadm/upgrade/control-plane.json';
const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
const RECORD_CHANGE = CHANGE('record');
const ASKED = model({ scheduler: { args: V4 } });

async function checks(node: ControlPlaneNode, asked: Model, record: StepRecord = RECORD) {
  const desired = upgradeControlPlane.desired(asked, facts());
  assert.ok(desired !== undefined);
  const found = (await upgradeControlPlane.preflight?.(node.host, desired, record)) ?? [];
  return found
    .filter(({ what }) => !what.includes('for etcd: not checked'))
    .map(({ severity = 'failed', reason, field = '', what }) => `${severity} ${reason} ${field}: ${what}`);
}

const back = (node: ControlPlaneNode, asked: Model, record: StepRecord) =>
  endOfFailedUpgrade(
    node.host,
    {
      ...{ model: asked, facts: facts(), isOurs: () => false, upgrade: record.upgrade as Upgrade },
      record: (step) => (step === 'upgrade-control-plane' ? record : RECORD),
    },
    { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined },
  );

describe('settings of the static pods of a control plane', () => {
  shortPauses();
  test('are shown as they are and as they will be, and nothing is changed', async () => {
    await using node = await controlPlaneNode();
    const asked = model({
      controllerManager: {
        args: [...V4, { name: 'secure-port', value: '0' }],
        env: [{ name: 'TOKEN', value: 'do-not-show' }],
        volumes: [{ name: 'extra', hostPath: '/a', mountPath: '/b', readOnly: false, pathType: undefined }],
      },
      scheduler: { args: [{ name: 'secure-port', value: '10260' }] },
      etcd: [{ name: 'snapshot-count', value: '5000' }],
    });
    const changes = await planned(upgradeControlPlane, node.host, asked, { record: RECORD });
    assert.deepEqual(
      changes.map(({ id, summary }) => [id, summary]),
      [
        [
          CHANGE('kube-controller-manager'),
          'change kube-controller-manager: --v: (default) -> 4; the variable TOKEN is new; the volume extra: (none) -> /a at /b, and restart it',
        ],
        [CHANGE('kube-scheduler'), 'change kube-scheduler: --secure-port: 0 -> 10260, and restart it'],
        [CHANGE('etcd'), 'change etcd: --snapshot-count: (default) -> 5000, and restart it'],
        [RECORD_CHANGE, 'record the settings of the control plane in the cluster (ConfigMap kubeadm-config)'],
      ],
    );
    assert.deepEqual(node.host.log, []);
    assert.deepEqual(await checks(node, asked), [
      'warning EtcdQuorumAtRisk : etcd has fewer than three members: the API pauses while the member of this machine restarts',
    ]);
  });

  test('are changed, proven and recorded; the others are not touched, and a second run has nothing to do', async () => {
    await using node = await controlPlaneNode({
      cluster: {
        configuration: {
          scheduler: {
            extraArgs: [
              { name: 'mine', value: 'x' },
              { name: 'theirs', value: 'y' },
            ],
          },
        },
      },
    });
    const record = recordOf({ 'kube-scheduler': { ...NONE, args: ['mine', 'v'] } });
    const { left, changes } = await runStep(upgradeControlPlane, node.host, ASKED, { record });
    assert.deepEqual([left, node.restarts], [[], ['kube-scheduler']]);
    assert.equal(changes.length, 2);
    assert.deepEqual(await node.command('kube-scheduler'), [
      'kube-scheduler',
      '--secure-port=0',
      '--theirs=y',
      '--v=4',
    ]);
    assert.deepEqual((node.state.configuration as { scheduler: object }).scheduler, {
      extraArgs: [{ name: 'theirs', value: 'y' }, ...V4],
    });
    assert.equal(node.host.text(KEPT), undefined);
    assert.equal(node.state.holder, 'node-1', 'the Lease is given back by the proof');
  });

  test('of etcd keep the members that its manifest names', async () => {
    await using node = await controlPlaneNode({ members: 3 });
    const path = '/etc/kubernetes/manifests/etcd.yaml';
    const cluster = '--initial-cluster=node-1=https://10.0.0.1:2380,node-2=https://10.0.0.2:2380';
    await node.host.writeFile({
      path,
      content: (node.host.text(path) ?? '').replace(
        '["etcd",',
        `["etcd","${cluster}","--initial-cluster-state=existing",`,
      ),
      mode: 0o600,
    });
    const asked = model({ etcd: [{ name: 'snapshot-count', value: '5000' }] });
    const { left } = await runStep(upgradeControlPlane, node.host, asked, { record: RECORD });
    const command = await node.command('etcd');
    assert.deepEqual(left, []);
    assert.ok(command.includes(cluster), command.join(' '));
    assert.ok(command.includes('--initial-cluster-state=existing'));
    assert.ok(command.includes('--snapshot-count=5000'));
  });

  test('of an earlier document are removed, and kubeadm chooses its own', async () => {
    await using node = await controlPlaneNode();
    await runStep(upgradeControlPlane, node.host, ASKED, { record: RECORD });
    const record = recordOf({ 'kube-scheduler': { ...NONE, args: ['v'] } });
    const [change] = await planned(upgradeControlPlane, node.host, model({}), { record });
    assert.equal(change?.summary, 'change kube-scheduler: --v: 4 -> (default), and restart it');
    await runStep(upgradeControlPlane, node.host, model({}), { record });
    assert.deepEqual(await node.command('kube-scheduler'), ['kube-scheduler', '--secure-port=0']);
    assert.equal((node.state.configuration as { scheduler?: object }).scheduler, undefined);
  });

  test('that kubeadm patches are compared with the configuration of the cluster', async () => {
    await using node = await controlPlaneNode({
      patch: (words) => words.map((word) => (word === '--v=4' ? '--v=5' : word)),
    });
    const asked = model({ scheduler: { args: V4 }, patched: 'kube-scheduler' });
    await runStep(upgradeControlPlane, node.host, asked, { record: RECORD });
    assert.deepEqual(await node.command('kube-scheduler'), ['kube-scheduler', '--secure-port=0', '--v=5']);
    const left = await planned(upgradeControlPlane, node.host, asked, { record: RECORD });
    assert.deepEqual(
      left.map(({ id }) => id),
      [RECORD_CHANGE],
    );
  });

  test('of another command, and of a worker, are left alone', async () => {
    await using node = await controlPlaneNode();
    const desired = upgradeControlPlane.desired(ASKED, facts());
    assert.ok(desired !== undefined);
    assert.equal(upgradeControlPlane.idle?.(desired, EMPTY_RECORD), true);
    assert.deepEqual(await planned(upgradeControlPlane, node.host, ASKED), []);
    const worker: Model = { ...hostModel(), kubernetes: kubernetesModel({ role: 'Worker' }) };
    assert.equal(upgradeControlPlane.desired(worker, facts()), undefined);
  });
});

describe('before settings of static pods change', () => {
  shortPauses();
  test('those that cannot are refused with their place', async () => {
    await using node = await controlPlaneNode();
    const asked = model({
      controllerManager: { args: [...V4, { name: 'cluster-cidr', value: '10.9.0.0/16' }] },
      etcd: [{ name: 'data-dir', value: '/srv/etcd' }],
    });
    assert.deepEqual(
      (await checks(node, asked)).filter((line) => line.startsWith('failed')),
      [
        'failed DocumentChanged kubernetes.controlPlane.controllerManager.args[1]: --cluster-cidr of kube-controller-manager cannot change on a running node (the default of kubeadm -> 10.9.0.0/16): Nodes keep the subnets that they got from it',
        'failed DocumentChanged kubernetes.controlPlane.etcd.local.args[0]: --data-dir of etcd cannot change on a running node (the default of kubeadm -> /srv/etcd): the data of the cluster is there',
      ],
    );
  });

  test('another control plane that is being upgraded, and an edited manifest, are in the way', async () => {
    const pod = (verbosity: string) => `spec: {containers: [{command: [kube-scheduler${verbosity}]}]}\n`;
    const diff = kubeadmDiff(SCHEDULER, pod(', --v=9'), pod(''));
    await using node = await controlPlaneNode({ diff, cluster: { holder: 'node-2' } });
    const found = await checks(node, ASKED);
    assert.deepEqual(
      found.map((line) => line.split(' ')[1]),
      ['UpgradeLocked', 'ControlPlaneEdited'],
    );
    const overwrites = { ...RECORD, upgrade: { ...(RECORD.upgrade as Upgrade), overwritesManifests: true as const } };
    assert.deepEqual(
      (await checks(node, ASKED, overwrites)).map((line) => line.split(' ')[1]),
      ['UpgradeLocked'],
    );
  });

  test('etcd needs a quorum without this member only if it restarts', async () => {
    await using node = await controlPlaneNode({ members: 3 });
    node.etcd.isUp[2] = false;
    assert.deepEqual(await checks(node, ASKED), []);
    const [found = ''] = await checks(node, model({ etcd: [{ name: 'snapshot-count', value: '5' }] }));
    assert.match(found, /^failed EtcdQuorumAtRisk/);
  });
});

describe('a static pod that does not work with its new settings', () => {
  shortPauses();
  test('gets the previous ones back, and the Lease is given back', async () => {
    await using node = await controlPlaneNode({ starts: (_pod, times) => times === 2 });
    const before = node.host.text(SCHEDULER);
    const asked = model({ scheduler: { args: V4 }, timeoutMs: 1 });
    await assert.rejects(runStep(upgradeControlPlane, node.host, asked, { record: RECORD }), {
      reason: 'ControlPlaneNotReconfigured',
      message: /^kube-scheduler does not work with its new arguments: its container to start/,
    });
    assert.notEqual(node.host.text(SCHEDULER), before);
    const slow = model({ scheduler: { args: V4 }, timeoutMs: 20_000 });
    const end = await back(node, slow, { ...RECORD, interrupted: new Set([CHANGE('kube-scheduler')]) });
    assert.deepEqual(end, {
      isBack: true,
      sentences: ['The previous arguments of the control plane are restored, and it works with them.'],
    });
    assert.equal(node.host.text(SCHEDULER), before);
    assert.deepEqual([node.recorded, node.state.holder], [[], undefined]);
  });

  test('that was recorded in the cluster stays: the next run continues', async () => {
    await using node = await controlPlaneNode({ records: () => false });
    await assert.rejects(runStep(upgradeControlPlane, node.host, ASKED, { record: RECORD }), {
      reason: 'ControlPlaneNotReconfigured',
      message:
        /^The control plane of this machine runs with its new configuration, but kubeadm could not record it in the cluster: error: the server is not there/,
    });
    const record = { ...RECORD, done: new Set([CHANGE('kube-scheduler')]), interrupted: new Set([RECORD_CHANGE]) };
    const end = await back(node, ASKED, record);
    assert.equal(end.isBack, false);
    assert.ok((await node.command('kube-scheduler')).includes('--v=4'));
  });
});
