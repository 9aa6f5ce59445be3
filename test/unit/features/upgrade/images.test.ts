import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { upgradeKubeadm } from '../../../../src/features/upgrade/kubeadm.ts';
import { CriError } from '../../../../src/host/cri/client.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';
import { manifestFiles, upgradeCluster } from '../../../support/upgrade-cluster.ts';
import { startUpgradeEtcd } from '../../../support/upgrade-etcd.ts';

const NEW = facts({ kubeadm: parseVersion('v1.35.3'), kubelet: parseVersion('Kubernetes v1.35.3') });
const LIST = ['m.example/kube-apiserver:v1.35.3', 'etcd.example/etcd:3.6.99-0'];
const SANDBOX = 'registry.k8s.io/pause:3.10.1';
const HEAD = 'failed to do request: Head "https://m.example/v2/kube-apiserver/manifests/v1.35.3": ';

interface Wish {
  readonly present?: readonly string[];
  readonly policy?: 'Never' | 'IfNotPresent';
  readonly role?: 'InitControlPlane' | 'Worker';
  readonly containerd?: Partial<ContainerdModel>;
  readonly ignored?: readonly string[];
  /** What containerd reports for each pull of an image; undefined: the image comes. */
  readonly pull?: (image: string) => string | undefined;
}

/** A node of a cluster with images of its own. */
async function upgradeWith(wish: Wish) {
  const { present = [], policy = 'IfNotPresent', role = 'InitControlPlane', containerd, ignored, pull } = wish;
  await using etcd = await startUpgradeEtcd(1);
  await using cluster = await upgradeCluster({
    configuration: {
      imageRepository: 'm.example',
      etcd: { local: { imageRepository: 'etcd.example', imageTag: '3.6.99-0' } },
    },
  });
  const model: Model = {
    ...hostModel(),
    ...(containerd === undefined ? {} : { containerd: containerdModel(containerd) }),
    kubernetes: kubernetesModel({ version: 'v1.35.3', role, node: { imagePullPolicy: policy } }),
  };
  const read: unknown[] = [];
  const host = memoryHost({
    files: { ...cluster.files, ...manifestFiles('v1.35.2'), ...etcd.filesOf(0), '/usr/bin/kubeadm': 'k' },
    cri: { images: async () => present.map((tag) => ({ id: `sha256:${tag}`, tags: [tag], digests: [] })) },
    pull: (image) => {
      const why = pull?.(image);
      if (why === undefined) return undefined;
      throw new CriError('/run/containerd/containerd.sock', 'PullImage', 2, why);
    },
    programs: {
      findmnt: () => ({ status: 1 }),
      kubeadm: ({ args = [] }, machine) => {
        if (args[0] === 'version') return { stdout: 'v1.35.3\n' };
        if (args[0] === 'config') {
          const file = args.find((word) => word.startsWith('--config='))?.slice('--config='.length);
          if (file === undefined) return { stdout: `${SANDBOX}\n` };
          read.push(JSON.parse(machine.text(file) ?? 'null'));
          return { stdout: `${LIST.join('\n')}\n` };
        }
        for (const [path, content] of Object.entries(manifestFiles('v1.35.3'))) machine.put(path, content);
        return {};
      },
    },
  });
  const drain = { by: 'caller' } as const;
  const upgrade = { from: 'v1.35.2', to: 'v1.35.3', drain, ...(ignored && { ignorePreflightErrors: ignored }) };
  const run = runStep(upgradeKubeadm, host, model, { facts: NEW, record: { ...EMPTY_RECORD, upgrade } });
  const failure = await run.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure === undefined || failure instanceof MachineadmError, String(failure));
  const pulled = host.log.filter((line) => line.startsWith('pull ')).map((line) => line.slice('pull '.length));
  const kubeadm = host.log.filter((line) => line.startsWith('run kubeadm'));
  return { host, read, failure, pulled, kubeadm, changes: cluster.state.changes };
}

describe('the images of an upgrade without a registry', () => {
  test("are those of the new kubeadm with the cluster's own configuration, in the new version", async () => {
    const { host, read, failure } = await upgradeWith({ policy: 'Never', present: LIST });
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
    const { failure, kubeadm } = await upgradeWith({ policy: 'Never', present: LIST.slice(0, 1) });
    assert.match(String(failure), /etcd\.example\/etcd:3\.6\.99-0/);
    assert.equal(failure?.reason, 'ImageMissing');
    assert.deepEqual(kubeadm, []);
  });

  test('include that of sandboxes, also on a worker', async () => {
    for (const role of ['InitControlPlane', 'Worker'] as const) {
      const { failure, kubeadm } = await upgradeWith({ policy: 'Never', present: LIST, role, containerd: {} });
      assert.equal(failure?.reason, 'ImageMissing', role);
      assert.match(failure?.message ?? '', /pull them from: registry\.k8s\.io\/pause:3\.10\.1$/);
      assert.deepEqual(kubeadm, []);
    }
    const present = [...LIST, 'own.example/pause:1'];
    const { failure } = await upgradeWith({
      ...{ policy: 'Never', present },
      containerd: { sandboxImage: 'own.example/pause:1' },
    });
    assert.equal(failure, undefined);
  });
});

describe('the images of an upgrade from a registry', () => {
  test('that are missing are pulled before kubeadm runs, and before the Lease is taken', async () => {
    const { host, failure, pulled } = await upgradeWith({ present: LIST.slice(0, 1), containerd: {} });
    assert.equal(failure, undefined);
    assert.deepEqual(pulled, [LIST[1], SANDBOX]);
    const order = host.log.filter((line) => /^(?:pull|run kubeadm) /.test(line)).map((line) => line.split(' ')[0]);
    assert.deepEqual(order, ['pull', 'pull', 'run']);
  });

  test('of a worker are that of sandboxes alone: kubeadm replaces no pod there', async () => {
    assert.deepEqual((await upgradeWith({ role: 'Worker', containerd: {} })).pulled, [SANDBOX]);
    assert.deepEqual((await upgradeWith({ role: 'Worker' })).pulled, [], 'a containerd of others is as it was');
  });

  for (const [what, text, reason, tries] of [
    ['is not there', 'failed to resolve reference "m.example/kube-apiserver:v1.35.3": not found', 'ImageNotFound', 1],
    ['needs another credential', `${HEAD}401 Unauthorized`, 'ImagePullUnauthorized', 1],
    [
      'is at a registry that is down',
      `${HEAD}dial tcp 192.0.2.1:443: connection refused`,
      'ImageRegistryUnreachable',
      3,
    ],
  ] as const) {
    test(`one that ${what} stops it: nothing was changed`, async () => {
      const run = await upgradeWith({ pull: () => text });
      assert.equal(run.failure?.reason, reason);
      assert.equal(run.failure?.exit, 'HostStepFailed');
      assert.equal(
        run.failure?.message,
        'This run did not start kubeadm upgrade: containerd could not pull m.example/kube-apiserver:v1.35.3.',
      );
      assert.deepEqual(run.failure?.evidence, [{ source: 'CRI PullImage', text }]);
      assert.deepEqual(
        run.pulled,
        Array.from({ length: tries }, () => LIST[0]),
      );
      assert.deepEqual([run.kubeadm, run.changes], [[], []], 'neither kubeadm ran, nor was the Lease taken');
    });
  }

  test('one that comes at the second attempt is enough', async () => {
    let attempts = 0;
    const run = await upgradeWith({
      present: LIST.slice(1),
      pull: () => (attempts++ === 0 ? `${HEAD}EOF` : undefined),
    });
    assert.equal(run.failure, undefined);
    assert.deepEqual(run.pulled, [LIST[0], LIST[0]]);
  });

  test('are left to the kubelet where the check of kubeadm is skipped', async () => {
    for (const ignored of [['imagepull'], ['all']]) {
      const run = await upgradeWith({ ignored, pull: () => 'not found' });
      assert.equal(run.failure, undefined);
      assert.deepEqual(run.pulled, []);
    }
  });
});
