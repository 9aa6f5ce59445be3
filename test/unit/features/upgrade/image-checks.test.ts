import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel, Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { upgradeDesired } from '../../../../src/features/upgrade/desired.ts';
import { imageObstacles, sandboxObstacles } from '../../../../src/features/upgrade/image-checks.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { dockerArchive } from '../../../support/image-archive.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const TO = 'v1.35.3';
const GIB = 2 ** 30;
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'];
const OWN = COMPONENTS.map((name) => `registry.k8s.io/${name}:${TO}`);
const LISTED = [
  ...OWN,
  'registry.k8s.io/coredns/coredns:v1.13.1',
  'registry.k8s.io/pause:3.10.1',
  'registry.k8s.io/etcd:3.6.6-0',
];

interface Wish {
  readonly present?: readonly string[];
  readonly configuration?: object;
  readonly archives?: Readonly<Record<string, readonly string[]>>;
  readonly policy?: 'Never' | 'IfNotPresent';
  /** Of kubeadm. */
  readonly installed?: string;
  /** `SIZE AVAIL` of findmnt. */
  readonly space?: string;
  readonly role?: 'InitControlPlane' | 'Worker';
  readonly containerd?: Partial<ContainerdModel>;
  /** Names of pods. */
  readonly pods?: readonly string[];
  readonly ignored?: readonly string[];
  readonly of?: 'containerd';
}

async function found(wish: Wish) {
  const {
    present = [],
    configuration = {},
    archives = {},
    policy,
    installed = TO,
    space = `${100 * GIB} ${80 * GIB}`,
  } = wish;
  const { role, containerd, pods = [], ignored = [], of } = wish;
  const contents = Object.entries(archives).map(
    ([path, tags]) => [path, Buffer.from(dockerArchive(tags, path).bytes)] as const,
  );
  const host = memoryHost({
    files: Object.fromEntries(
      contents.filter(([path]) => !path.includes('absent')).map(([path, content]) => [path, { content }]),
    ),
    cri: {
      images: async () => present.map((tag) => ({ id: tag, tags: [tag], digests: [] })),
      workloads: async () => ({ pods: pods.map((name) => ({ id: name, name })), containers: [] }),
    },
    programs: { kubeadm: () => ({ stdout: LISTED.join('\n') }), findmnt: () => ({ stdout: `${space}\n` }) },
  });
  const model: Model = {
    ...hostModel(),
    ...(containerd === undefined ? {} : { containerd: containerdModel(containerd) }),
    images: {
      archives: Object.keys(archives).map((path) => ({ kind: 'file', path, sha256: undefined })),
      required: [],
    },
    kubernetes: kubernetesModel({
      version: TO,
      ...(role === undefined ? {} : { role }),
      ...(policy === undefined ? {} : { node: { imagePullPolicy: policy } }),
    }),
  };
  const desired = upgradeDesired(model, facts({ kubeadm: parseVersion(installed) }));
  assert.ok(desired !== undefined);
  const all =
    of === 'containerd'
      ? await sandboxObstacles(host, desired, '2.1.9')
      : await imageObstacles(host, desired, { to: TO, ignorePreflightErrors: ignored }, configuration);
  assert.deepEqual(host.log, []);
  return all.map(({ severity = 'failed', reason, what }) => `${severity} ${reason}: ${what}`);
}

describe('the images of another version', () => {
  test('that are present need nothing', async () => {
    assert.deepEqual(await found({ present: LISTED }), []);
  });

  test('that are in an archive of the document need space alone', async () => {
    const archives = { '/images/all.tar': LISTED };
    assert.deepEqual(await found({ archives }), []);
    const [full = ''] = await found({ archives, space: '1000000 100' });
    assert.match(
      full,
      /^failed DiskFull: the file system of \/var\/lib\/containerd has 1 MiB free, and the new images need about 1 MiB$/,
    );
  });

  test('that are missing without a registry are refused, by their names', async () => {
    assert.deepEqual(await found({ policy: 'Never', present: LISTED.slice(1) }), [
      `failed ImageMissing: images of Kubernetes 1.35.3 are missing, and there is no registry to pull them from: ${OWN[0]}`,
    ]);
  });

  test('have the repositories and tags of the cluster, and not those that it does not use', async () => {
    const configuration = {
      ...{ dns: { disabled: true }, proxy: { disabled: true } },
      etcd: { local: { imageRepository: 'etcd.example', imageTag: '9.9' } },
    };
    const present = LISTED.filter(
      (image) => !image.includes('etcd') && !image.includes('coredns') && !image.includes('kube-proxy'),
    );
    const [first = '', ...more] = await found({ policy: 'Never', present, configuration });
    assert.match(first, /^failed ImageMissing: .*: etcd\.example\/etcd:9\.9$/);
    assert.deepEqual(more, []);
    assert.deepEqual(
      await found({ policy: 'Never', present, configuration: { ...configuration, etcd: { external: {} } } }),
      [],
    );
  });

  test('of companions are only a warning before kubeadm of the version is installed', async () => {
    const all = await found({ policy: 'Never', installed: 'v1.35.2' });
    assert.deepEqual(
      all.map((line) => line.split(':')[0]),
      ['failed ImageMissing', 'warning ImageMissing'],
    );
    assert.match(all[1] ?? '', /registry\.k8s\.io\/etcd:3/);
  });

  test('that containerd would pull are not checked, which is said, with what happens if they cannot be pulled', async () => {
    const start = `skipped PreflightFailed: whether ${OWN[0]} can be pulled from registry.k8s.io: not checked: only a pull of containerd uses its mirrors and credentials; `;
    assert.deepEqual(await found({ present: LISTED.slice(1) }), [
      `${start}the upgrade pulls them before kubeadm, etcd and the kubelet are touched, and ends there if one cannot be pulled`,
    ]);
    assert.deepEqual(await found({ present: LISTED.slice(1), ignored: ['ImagePull'] }), [
      `${start}and kubeadm is not to check it either (--ignore-preflight-errors)`,
    ]);
  });

  test('in an archive that another step brings are not checked', async () => {
    const all = await found({ present: LISTED.slice(1), archives: { '/images/absent.tar': [] } });
    assert.deepEqual(all, [
      `skipped PreflightFailed: whether archives hold ${OWN[0]}: not checked: /images/absent.tar does not exist yet`,
    ]);
  });

  test('include that of sandboxes, where the document configures containerd', async () => {
    const present = LISTED.filter((image) => !image.includes('pause'));
    const own = { sandboxImage: 'own.example/pause:9' };
    assert.deepEqual(await found({ policy: 'Never', present: LISTED, containerd: own }), [
      'failed ImageMissing: images of Kubernetes 1.35.3 are missing, and there is no registry to pull them from: own.example/pause:9',
    ]);
    assert.deepEqual(await found({ policy: 'Never', present: LISTED, containerd: {} }), []);
    const worker = { policy: 'Never', role: 'Worker', present } as const;
    assert.deepEqual(await found({ ...worker, containerd: {} }), [
      'failed ImageMissing: images of Kubernetes 1.35.3 are missing, and there is no registry to pull them from: registry.k8s.io/pause:3.10.1',
    ]);
    const [early = '', ...more] = await found({ ...worker, containerd: {}, installed: 'v1.35.2' });
    assert.match(early, /^warning ImageMissing: .*: registry\.k8s\.io\/pause:3\.10\.\d$/);
    assert.deepEqual(more, []);
    assert.deepEqual(await found({ ...worker, containerd: {}, archives: { '/images/pause.tar': LISTED } }), []);
    assert.deepEqual(await found(worker), [], 'a containerd of others is as it was');
  });

  test('of a worker are no others; that of kube-proxy, if it runs, is a warning without a registry', async () => {
    const worker = { role: 'Worker', configuration: { kubernetesVersion: 'v1.35.4' } } as const;
    assert.deepEqual(await found({ ...worker, policy: 'Never' }), []);
    const pods = ['kube-system/kube-proxy-x'];
    assert.deepEqual(await found({ ...worker, pods }), []);
    assert.deepEqual(await found({ ...worker, pods, policy: 'Never' }), [
      'warning ImageMissing: images of Kubernetes 1.35.3 are missing, and there is no registry to pull them from: registry.k8s.io/kube-proxy:v1.35.4',
    ]);
  });

  test('that fill the disk above the threshold of the kubelet are a warning', async () => {
    const [, warning = ''] = await found({ present: LISTED.slice(1), space: `${100 * GIB} ${15 * GIB}` });
    assert.match(
      warning,
      /^warning DiskFull: with the new images, the file system of \/var\/lib\/containerd would be 86 % full \(15\.0 GiB of 100\.0 GiB free now\), and from 85 % on the kubelet removes images that no container uses$/,
    );
  });
});

describe('the image of sandboxes before an upgrade of containerd', () => {
  const containerd = { sandboxImage: 'own.example/pause:9' };

  test('that is there, or that of a containerd of others, needs nothing', async () => {
    assert.deepEqual(await found({ of: 'containerd', containerd, present: ['own.example/pause:9'] }), []);
    assert.deepEqual(await found({ of: 'containerd' }), []);
  });

  test('that is missing without a registry is refused, and otherwise said', async () => {
    assert.deepEqual(await found({ of: 'containerd', containerd, policy: 'Never' }), [
      'failed ImageMissing: images of sandboxes of containerd 2.1.9 are missing, and there is no registry to pull them from: own.example/pause:9',
    ]);
    assert.deepEqual(await found({ of: 'containerd', containerd }), [
      'skipped PreflightFailed: whether own.example/pause:9 can be pulled from own.example: not checked: only a pull of containerd uses its mirrors and credentials; the upgrade starts a pod with the new containerd, and restores the previous one if it cannot pull it',
    ]);
  });
});
