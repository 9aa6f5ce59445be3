import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { upgradeKubeadm } from '../../../../src/features/upgrade/kubeadm.ts';
import { EMPTY_RECORD, type Step } from '../../../../src/step/index.ts';
import type { Upgrade } from '../../../../src/step/upgrade-order.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';
import { manifestFiles, upgradeCluster } from '../../../support/upgrade-cluster.ts';
import { startUpgradeEtcd } from '../../../support/upgrade-etcd.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const UPGRADE: Upgrade = { from: 'v1.35.2', to: 'v1.35.3', drain: { by: 'machineadm' } };
const NEW = facts({ kubeadm: parseVersion('v1.35.3'), kubelet: parseVersion('Kubernetes v1.35.3') });
const RECORD = { ...EMPTY_RECORD, upgrade: UPGRADE };

function controlPlane(controlPlaneMs: number, name = 'node-1'): Model {
  const kubernetes = kubernetesModel({ version: 'v1.35.3', timeouts: { controlPlaneMs }, node: { name } });
  return { ...hostModel(), kubernetes };
}

/**
 * Three control planes with one etcd each. While kubeadm upgrades one, its member is down.
 *
 * @param during what kubeadm waits for
 */
async function threeControlPlanes(during: (started: readonly string[]) => Promise<void> = async () => undefined) {
  const names = ['node-1', 'node-2', 'node-3'];
  const etcd = await startUpgradeEtcd(names.length);
  const versions = () => Object.fromEntries(names.map((name) => [name, 'v1.35.2']));
  const cluster = await upgradeCluster({ kubelets: versions(), apiServers: versions() });
  const worst = { down: 0 };
  const started: string[] = [];
  const hostOf = (index: number) =>
    memoryHost({
      files: { ...manifestFiles('v1.35.2'), ...cluster.filesOf(names[index] ?? ''), ...etcd.filesOf(index) },
      programs: {
        findmnt: () => ({ status: 1 }),
        kubeadm: async ({ args = [] }, host) => {
          if (args[0] === 'version') return { stdout: 'v1.35.3\n' };
          if (args[0] !== 'upgrade' || args[1] === 'diff') return {};
          started.push(names[index] ?? '');
          etcd.isUp[index] = false;
          worst.down = Math.max(worst.down, etcd.isUp.filter((up) => !up).length);
          await during(started);
          for (const [path, file] of Object.entries(manifestFiles('v1.35.3'))) {
            if (!path.includes('etcd')) host.put(path, file);
          }
          etcd.isUp[index] = true;
          return {};
        },
      },
    });
  return {
    ...{ etcd, cluster, worst, started, hostOf },
    async [Symbol.asyncDispose]() {
      await etcd[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

const run = (host: ReturnType<typeof memoryHost>, model: Model) =>
  runStep(upgradeKubeadm, host, model, { facts: NEW, record: RECORD });

describe('three control planes', () => {
  shortPauses();
  test('that start at the same time: one upgrades, the others are refused, and never two members are down', async () => {
    let refused = 0;
    await using three = await threeControlPlanes((started) =>
      waitUntil(() => refused + started.length === 3, 'the others are refused, or start too'),
    );
    const start = async (index: number): Promise<void> => {
      try {
        await run(three.hostOf(index), controlPlane(60_000, `node-${index + 1}`));
      } catch (error) {
        refused += 1;
        throw error;
      }
    };
    const ends = await Promise.allSettled([0, 1, 2].map(start));
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.reason] : []));
    assert.deepEqual(reasons, ['UpgradeLocked', 'UpgradeLocked']);
    assert.equal(three.worst.down, 1);
    assert.equal(three.started.length, 1);
  });

  test('one after the other: the next one waits until the member of the one before is there again', async () => {
    await using three = await threeControlPlanes();
    await run(three.hostOf(0), controlPlane(60_000));
    // The proof of the first gave its turn back, and then its etcd restarts.
    three.cluster.state.holder = undefined;
    three.etcd.isUp[0] = false;
    const asked = three.etcd.asked();
    const second = run(three.hostOf(1), controlPlane(60_000, 'node-2'));
    await waitUntil(() => three.etcd.asked() > asked + 6, 'the members are asked more than once');
    assert.deepEqual(three.started, ['node-1'], 'kubeadm is not started while a member is down');
    three.etcd.isUp[0] = true;
    const { waits } = await second;
    assert.deepEqual(three.started, ['node-1', 'node-2']);
    assert.equal(three.worst.down, 1);
    assert.match(waits.join('\n'), /node-1 does not answer: without the member of this machine 1 of 3 are healthy/);
  });

  test('without a quorum of the others: kubeadm is not started, and the run fails with EtcdQuorumAtRisk', async () => {
    await using three = await threeControlPlanes();
    three.etcd.isUp[2] = false;
    const host = three.hostOf(0);
    await assert.rejects(run(host, controlPlane(1)), {
      reason: 'EtcdQuorumAtRisk',
      exit: 'HostStepFailed',
      message: /node-3 does not answer: without the member of this machine 1 of 3 are healthy, and a quorum is 2/,
    });
    assert.deepEqual(three.started, []);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run ')),
      [],
    );
  });

  test('without a quorum of the others: the plan refuses', async () => {
    await using three = await threeControlPlanes();
    three.etcd.isUp[2] = false;
    const host = three.hostOf(0);
    const step = upgradeKubeadm as unknown as Step;
    const found = (await step.preflight?.(host, step.desired(controlPlane(1), NEW), RECORD)) ?? [];
    const refused = found.filter(({ severity }) => severity === undefined);
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      ['EtcdQuorumAtRisk'],
    );
    assert.deepEqual([host.log, three.cluster.state.changes], [[], []]);
  });
});
