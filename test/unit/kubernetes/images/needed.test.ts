import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { isAirGapped, neededImages } from '@machineadm/kubeadm/images/needed.ts';
import { containerdModel, registryEndpoint } from '../../../support/containerd-model.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type KubernetesOverrides, kubernetesModel, PLAIN_ETCD } from '../../../support/kubernetes-model.ts';

const ARCHIVE = { kind: 'file' as const, path: '/a.tar', sha256: undefined };
const model = (overrides: KubernetesOverrides | undefined, part: Partial<Model> = {}): Model => ({
  ...hostModel(),
  kubernetes: overrides === undefined ? undefined : kubernetesModel(overrides),
  ...part,
});
const namesOf = async (of: Model) => (await neededImages(of)).images.map(({ image }) => image);

describe('the images that a document needs', () => {
  test('of a first control plane are those of its kubeadm', async () => {
    assert.deepEqual(await namesOf(model({ version: 'v1.35.2' })), [
      'registry.k8s.io/pause:3.10.1',
      'registry.k8s.io/kube-apiserver:v1.35.2',
      'registry.k8s.io/kube-controller-manager:v1.35.2',
      'registry.k8s.io/kube-scheduler:v1.35.2',
      'registry.k8s.io/kube-proxy:v1.35.2',
      'registry.k8s.io/coredns/coredns:v1.13.1',
      'registry.k8s.io/etcd:3.6.6-0',
    ]);
  });

  test('of a mirror have coredns on one level, as kubeadm asks for it', async () => {
    const names = await namesOf(model({ cluster: { imageRepository: 'm.example/k8s' } }));
    assert.ok(names.includes('m.example/k8s/coredns:v1.13.1'), names.join());
    assert.deepEqual(
      names.filter((name) => !name.startsWith('m.example/k8s/')),
      [],
    );
    const old = await namesOf(model({ version: 'v1.20.2' }));
    assert.ok(old.includes('k8s.gcr.io/coredns:1.7.0'), old.join());
  });

  test('follow the settings of the document for dns and etcd', async () => {
    const names = await namesOf(
      model({
        addons: { dns: { enabled: true, imageRepository: 'd.example/x', imageTag: 'v9' } },
        controlPlane: { etcd: { ...PLAIN_ETCD, imageRepository: 'e.example', imageTag: '3.7.1-0' } },
      }),
    );
    assert.ok(names.includes('d.example/x/coredns:v9'), names.join());
    assert.ok(names.includes('e.example/etcd:3.7.1-0'), names.join());
  });

  test('lack etcd where it is external, and addons that are off where kubeadm can be told so', async () => {
    const external = {
      kind: 'external',
      endpoints: [],
      httpEndpoints: [],
      caFile: '',
      certFile: '',
      keyFile: '',
    } as const;
    const addons = {
      dns: { enabled: false, imageRepository: undefined, imageTag: undefined },
      proxy: { enabled: false, config: {} },
    };
    const kinds = async (version: string) =>
      (await namesOf(model({ version, addons, controlPlane: { etcd: external } }))).map((name) =>
        name.replace(/^.*\/|:.*$/g, ''),
      );
    const controlPlane = ['pause', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
    assert.deepEqual(await kinds('v1.31.0'), controlPlane);
    assert.deepEqual(await kinds('v1.30.0'), [...controlPlane, 'kube-proxy', 'coredns'], 'it pulls them all the same');
  });

  test('have the sandbox of containerd, static pods and what is required; each once, with all its uses', async () => {
    const pod = (...images: readonly string[]) =>
      JSON.stringify({
        spec: { initContainers: [{ image: images[0] }], containers: images.slice(1).map((image) => ({ image })) },
      });
    const { images } = await neededImages(
      model(
        {
          version: 'v1.35.2',
          controlPlane: {
            staticPods: [
              { name: 'kube-vip', manifest: pod('i.example/init:1', 'v.example/vip:1'), adminKubeconfig: 'Auto' },
            ],
          },
        },
        {
          containerd: containerdModel({
            sandboxImage: 'registry.k8s.io/pause:3.10.1',
            registries: [
              {
                host: 'p.example',
                server: registryEndpoint('https://p.example'),
                fallback: true,
                mirrors: [],
                verify: 'p.example/proof:1',
              },
            ],
          }),
          images: { archives: [], required: ['v.example/vip:1', 'c.example/cni:1'] },
        },
      ),
    );
    const uses = new Map(images.map((one) => [one.image, one.for]));
    assert.deepEqual(uses.get('registry.k8s.io/pause:3.10.1'), ['sandbox', 'pause']);
    assert.deepEqual(uses.get('i.example/init:1'), ['static pod kube-vip']);
    assert.deepEqual(uses.get('v.example/vip:1'), ['static pod kube-vip', 'images.required']);
    assert.deepEqual(uses.get('c.example/cni:1'), ['images.required']);
    assert.deepEqual(uses.get('p.example/proof:1'), ['the proof of p.example']);
    assert.equal(
      images.every(({ certain }) => certain),
      true,
    );
  });

  test('of a joining machine are not certain: its cluster decides', async () => {
    const of = async (role: 'JoinControlPlane' | 'Worker') =>
      (await neededImages(model({ role }))).images.map(({ image, certain }) => [
        image.replace(/^.*\/|:.*$/g, ''),
        certain,
      ]);
    assert.deepEqual(
      await of('Worker'),
      ['pause', 'kube-proxy', 'coredns'].map((name) => [name, false]),
    );
    assert.equal((await of('JoinControlPlane')).length, 7);
  });

  test('of a release that is not known are reported as unknown; of a later patch as uncertain', async () => {
    const newer = await neededImages(model({ version: 'v1.99.0' }));
    assert.deepEqual(newer.images, []);
    assert.deepEqual(newer.unknown, ['etcd, coredns and pause of Kubernetes v1.99.0']);
    const later = await neededImages(model({ version: 'v1.35.99' }));
    const uncertain = later.images.filter(({ certain }) => !certain).map(({ image }) => image);
    assert.deepEqual(uncertain, [
      'registry.k8s.io/pause:3.10.1',
      'registry.k8s.io/coredns/coredns:v1.13.1',
      'registry.k8s.io/etcd:3.6.6-0',
    ]);
  });

  test('of a document without kubernetes are those that it requires', async () => {
    assert.deepEqual(await namesOf(model(undefined, { images: { archives: [], required: ['a:1'] } })), ['a:1']);
  });
});

describe('a machine is air-gapped', () => {
  for (const [archives, policy, expected] of [
    [[], undefined, false],
    [[ARCHIVE], undefined, true],
    [[ARCHIVE], 'IfNotPresent', false],
    [[ARCHIVE], 'Always', false],
    [[], 'Never', true],
  ] as const) {
    test(`${expected ? '' : 'not '}with ${archives.length} archives and imagePullPolicy ${policy}`, () => {
      const images = { archives, required: [] };
      assert.equal(
        isAirGapped({ images, kubernetes: kubernetesModel({ node: { imagePullPolicy: policy } }) }),
        expected,
      );
    });
  }
});
