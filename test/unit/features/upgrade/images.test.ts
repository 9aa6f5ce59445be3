import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model.ts';
import { parseVersion } from '@machineadm/document/program-version.ts';
import { upgradeKubeadm } from '../../../../src/features/upgrade/kubeadm.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';
import { manifestFiles, upgradeCluster } from '../../../support/upgrade-cluster.ts';
import { startUpgradeEtcd } from '../../../support/upgrade-etcd.ts';

const AIR_GAPPED: Model = {
  ...hostModel(),
  kubernetes: kubernetesModel({ version: 'v1.35.3', node: { imagePullPolicy: 'Never' } }),
};
const NEW = facts({ kubeadm: parseVersion('v1.35.3'), kubelet: parseVersion('Kubernetes v1.35.3') });
const LIST = ['m.example/kube-apiserver:v1.35.3', 'etcd.example/etcd:3.6.99-0'];

/** A control plane without a registry, of a cluster with images of its own, whose runtime has these images. */
async function upgradeWith(present: readonly string[]) {
  await using etcd = await startUpgradeEtcd(1);
  await using cluster = await upgradeCluster({
    configuration: {
      imageRepository: 'm.example',
      etcd: { local: { imageRepository: 'etcd.example', imageTag: '3.6.99-0' } },
    },
  });
  const read: unknown[] = [];
  const host = memoryHost({
    files: { ...cluster.files, ...manifestFiles('v1.35.2'), ...etcd.filesOf(0), '/usr/bin/kubeadm': 'k' },
    cri: { images: async () => present.map((tag) => ({ id: `sha256:${tag}`, tags: [tag], digests: [] })) },
    programs: {
      findmnt: () => ({ status: 1 }),
      kubeadm: ({ args = [] }, machine) => {
        if (args[0] === 'version') return { stdout: 'v1.35.3\n' };
        if (args[0] === 'config') {
          const file = args.find((word) => word.startsWith('--config='))?.slice('--config='.length);
          read.push(JSON.parse(machine.text(file ?? '') ?? 'null'));
          return { stdout: `${LIST.join('\n')}\n` };
        }
        for (const [path, content] of Object.entries(manifestFiles('v1.35.3'))) machine.put(path, content);
        return {};
      },
    },
  });
  const record = { ...EMPTY_RECORD, upgrade: { from: 'v1.35.2', to: 'v1.35.3', drain: { by: 'caller' } } } as const;
  const run = runStep(upgradeKubeadm, host, AIR_GAPPED, { facts: NEW, record });
  return {
    host,
    read,
    failure: await run.then(
      () => undefined,
      (error: unknown) => error,
    ),
  };
}

describe('the images of an upgrade without a registry', () => {
  test("are those of the new kubeadm with the cluster's own configuration, in the new version", async () => {
    const { host, read, failure } = await upgradeWith(LIST);
    assert.equal(failure, undefined);
    assert.deepEqual(read, [
      {
        apiVersion: 'kubeadm.k8s.io/v1beta4',
        kind: 'ClusterConfiguration',
        kubernetesVersion: 'v1.35.3',
        featureGates: {},
        imageRepository: 'm.example',
        etcd: { local: { imageRepository: 'etcd.example', imageTag: '3.6.99-0' } },
      },
    ]);
    assert.ok(host.log.includes('run kubeadm upgrade apply v1.35.3 --yes'));
    assert.equal(host.text('/run/machineadm/upgrade-images.yaml'), undefined, 'the copy is removed');
  });

  test('that are missing stop it before kubeadm runs', async () => {
    const { host, failure } = await upgradeWith(LIST.slice(0, 1));
    assert.match(String(failure), /etcd\.example\/etcd:3\.6\.99-0/);
    assert.equal((failure as { reason?: string }).reason, 'ImageMissing');
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run kubeadm')),
      [],
    );
  });
});
