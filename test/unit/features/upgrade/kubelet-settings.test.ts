import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { endOfFailedUpgrade } from '../../../../src/features/upgrade/back.ts';
import { upgradeKubeletSettings } from '../../../../src/features/upgrade/kubelet-settings.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import {
  CONFIG,
  FLAGS,
  INTERRUPTED,
  KEPT,
  kubeletNode,
  model,
  RECORD,
  UPGRADE,
} from '../../../support/kubelet-settings-node.ts';
import type { MemoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';

async function refusals(host: MemoryHost, asked: Model) {
  const desired = upgradeKubeletSettings.desired(asked, facts());
  assert.ok(desired !== undefined);
  const found = (await upgradeKubeletSettings.preflight?.(host, desired, RECORD)) ?? [];
  return found.map(({ reason, what, field }) => `${reason} ${field}: ${what}`);
}

describe('settings of a kubelet that runs', () => {
  shortPauses();
  const ASKED = model({
    config: { maxPods: 200, authentication: { anonymous: { enabled: true } }, syncFrequency: '60s' },
    args: [{ name: 'v', value: '4' }],
  });

  test('are shown as they are and as they will be, and nothing is changed', async () => {
    await using node = await kubeletNode();
    const [change] = await planned(upgradeKubeletSettings, node.host, ASKED, { record: RECORD });
    assert.equal(
      change?.summary,
      'change the kubelet: maxPods: 110 -> 200; authentication: {"anonymous":{"enabled":false},"webhook":{"enabled":true}} -> {"anonymous":{"enabled":true},"webhook":{"enabled":true}}; --v: 2 -> 4, and restart it',
    );
    assert.deepEqual([node.host.log, node.restarts()], [[], 0]);
  });

  test('are written, and the kubelet is restarted and proven; a second run has nothing to do', async () => {
    await using node = await kubeletNode();
    const { left } = await runStep(upgradeKubeletSettings, node.host, ASKED, { record: RECORD });
    assert.deepEqual([left, node.restarts()], [[], 1]);
    const config = await foreignYaml(node.host.text(CONFIG) ?? '');
    assert.deepEqual((config as { maxPods: number; cgroupDriver: string }).maxPods, 200);
    assert.deepEqual((config as { cgroupDriver: string }).cgroupDriver, 'systemd', 'the rest stays');
    assert.equal(
      node.host.text(FLAGS),
      'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --v=4"\n',
    );
    assert.equal(node.host.text(KEPT), undefined);
    assert.deepEqual(await planned(upgradeKubeletSettings, node.host, ASKED, { record: RECORD }), []);
  });

  test('of a worker are proven by its health', async () => {
    await using node = await kubeletNode();
    await runStep(upgradeKubeletSettings, node.host, model({ config: { maxPods: 50 } }, 'Worker'), { record: RECORD });
    assert.match(node.host.text(CONFIG) ?? '', /maxPods: 50/);
  });

  test('are only written in an upgrade to another version, which restarts the kubelet', async () => {
    await using node = await kubeletNode();
    const record = { ...RECORD, upgrade: { ...UPGRADE, to: 'v1.35.3', subjects: ['version', 'kubelet'] } } as const;
    await runStep(upgradeKubeletSettings, node.host, ASKED, { record });
    assert.equal(node.restarts(), 0);
    assert.match(node.host.text(CONFIG) ?? '', /maxPods: 200/);
  });

  test('are left alone by another command', async () => {
    await using node = await kubeletNode();
    const desired = upgradeKubeletSettings.desired(ASKED, facts());
    assert.ok(desired !== undefined);
    assert.equal(upgradeKubeletSettings.idle?.(desired, EMPTY_RECORD), true);
    assert.deepEqual(await planned(upgradeKubeletSettings, node.host, ASKED, { record: EMPTY_RECORD }), []);
  });

  test('that cannot change on a running node are refused, with their place', async () => {
    await using node = await kubeletNode();
    const asked = model({
      config: { cgroupDriver: 'cgroupfs', staticPodPath: '/srv/pods', clusterDNS: ['10.96.0.20'] },
      args: [{ name: 'hostname-override', value: 'other' }],
    });
    const found = await refusals(node.host, asked);
    assert.deepEqual(
      found.map((line) => line.split(':')[0]),
      [
        'DocumentChanged kubernetes.node.kubelet.config.cgroupDriver',
        'DocumentChanged kubernetes.node.kubelet.config.staticPodPath',
        'DocumentChanged kubernetes.node.kubelet.args[0]',
      ],
    );
    assert.match(found[0] ?? '', /cannot change on a running node \(systemd -> cgroupfs\): it must be that of the/);
    assert.deepEqual(await refusals(node.host, model({ config: { cgroupDriver: 'systemd', maxPods: 5 } })), []);
  });
});

describe('a kubelet that does not start with its new settings', () => {
  shortPauses();
  test('gets the previous ones back, and the failure has one verdict', async () => {
    await using node = await kubeletNode((config) => !config.includes('maxPods: -1'));
    const [config, flags] = [node.host.text(CONFIG), node.host.text(FLAGS)];
    const asked = model({ config: { maxPods: -1 } }, 'Worker', 1);
    await assert.rejects(runStep(upgradeKubeletSettings, node.host, asked, { record: RECORD }), {
      reason: 'KubeletNotHealthy',
    });
    assert.match(node.host.text(CONFIG) ?? '', /maxPods: -1/);
    const end = await endOfFailedUpgrade(
      node.host,
      {
        ...{ model: asked, facts: facts(), upgrade: UPGRADE, isOurs: () => false },
        record: (step) => (step === 'upgrade-kubelet-settings' ? INTERRUPTED : RECORD),
      },
      { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined },
    );
    assert.deepEqual(end, {
      isBack: true,
      sentences: ['The previous settings of the kubelet are restored, and the node works with them.'],
    });
    assert.deepEqual([node.host.text(CONFIG), node.host.text(FLAGS)], [config, flags]);
  });

  test('is not called healthy where it ends after it answered, although its Node stays Ready meanwhile', async () => {
    await using node = await kubeletNode(
      () => true,
      (config) => !config.includes('maxPods: 99'),
    );
    await assert.rejects(
      runStep(upgradeKubeletSettings, node.host, model({ config: { maxPods: 99 } }), { record: RECORD }),
      { reason: 'KubeletNotHealthy', message: /it ended 3 times after it was healthy/ },
    );
    assert.notEqual(node.host.text(KEPT), undefined, 'the previous settings can be restored');
  });
});
