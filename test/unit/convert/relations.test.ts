import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { stringify } from 'yaml';

const CORE = 'cluster.x-k8s.io/v1beta2';
const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io/v1beta2';

describe('a relation that the input does not decide', () => {
  const config = (namespace?: string, metadata: object = {}) => ({
    apiVersion: BOOTSTRAP,
    kind: 'KubeadmConfig',
    metadata: { name: 'c', namespace, ...metadata },
    spec: { joinConfiguration: {} },
  });
  const machine = (name: string, namespace: string | undefined, version: string, uid?: string) => ({
    apiVersion: CORE,
    kind: 'Machine',
    metadata: { name, namespace, uid },
    spec: { clusterName: 'main', version, bootstrap: { configRef: { kind: 'KubeadmConfig', name: 'c' } } },
  });
  const clusterIn = (namespace: string | undefined, name = 'main') => ({
    apiVersion: CORE,
    kind: 'Cluster',
    metadata: { name, namespace },
    spec: { controlPlaneEndpoint: { host: `${namespace}.example`, port: 6443 } },
  });
  const cases: readonly (readonly [string, readonly object[], string, RegExp | undefined, RegExp | undefined])[] = [
    [
      'of one Machine of two',
      [config('a'), machine('m', 'a', 'v1.33.1'), machine('n', 'a', 'v1.33.2')],
      'RelationUnclear',
      undefined,
      /v1\.33/,
    ],
    [
      'of a Machine in an open namespace',
      [config('a'), machine('m', undefined, 'v1.33.1')],
      'RelationAssumed',
      /v1\.33\.1/,
      undefined,
    ],
    [
      'of an owner with another uid',
      [
        config('a', { ownerReferences: [{ apiVersion: CORE, kind: 'Machine', name: 'm', uid: 'old' }] }),
        machine('m', 'a', 'v1.33.1', 'new'),
      ],
      'RelationUnclear',
      undefined,
      /v1\.33/,
    ],
    [
      'of a Cluster that is only in another namespace',
      [config('a', { labels: { 'cluster.x-k8s.io/cluster-name': 'main' } }), clusterIn('b')],
      'RelationMissing',
      undefined,
      /b\.example/,
    ],
    [
      'of a Cluster in an open namespace',
      [config('a', { labels: { 'cluster.x-k8s.io/cluster-name': 'main' } }), clusterIn(undefined)],
      'RelationAssumed',
      /undefined\.example/,
      undefined,
    ],
    [
      'of one Cluster of two in open namespaces',
      [config(undefined, { labels: { 'cluster.x-k8s.io/cluster-name': 'main' } }), clusterIn('a'), clusterIn('b')],
      'RelationUnclear',
      undefined,
      /[ab]\.example/,
    ],
    ['of the only Cluster', [config('a'), clusterIn('a')], 'ClusterAssumed', /a\.example/, undefined],
  ];
  for (const [what, objects, code, present, absent] of cases) {
    test(`${what} is reported as ${code}`, async () => {
      const text = objects.map((object) => stringify(object)).join('---\n');
      const { documents, decisions } = await convert([{ name: 'x', text }], { kubernetesVersion: 'v1.35.2' });
      assert.ok(
        decisions.some((one) => one.code === code),
        JSON.stringify(decisions),
      );
      const yaml = documents.map((one) => one.yaml).join('');
      if (present !== undefined) assert.match(yaml, present);
      if (absent !== undefined) assert.doesNotMatch(yaml, absent);
    });
  }

  test('of the only Cluster in another namespace is none', async () => {
    const text = [config('a'), clusterIn('b')].map((object) => stringify(object)).join('---\n');
    const { documents } = await convert([{ name: 'x', text }], { kubernetesVersion: 'v1.35.2' });
    assert.doesNotMatch(documents[0]?.yaml ?? '', /b\.example|cluster: main/);
  });

  test('one template of two MachineDeployments becomes a document for each, with its version', async () => {
    const template = {
      apiVersion: BOOTSTRAP,
      kind: 'KubeadmConfigTemplate',
      metadata: { name: 't', namespace: 'a' },
      spec: { template: { spec: {} } },
    };
    const deployment = (name: string, version: string) => ({
      apiVersion: CORE,
      kind: 'MachineDeployment',
      metadata: { name, namespace: 'a' },
      spec: {
        clusterName: 'main',
        template: { spec: { version, bootstrap: { configRef: { kind: 'KubeadmConfigTemplate', name: 't' } } } },
      },
    });
    const text = [template, deployment('one', 'v1.33.1'), deployment('two', 'v1.34.1')]
      .map((object) => stringify(object))
      .join('---\n');
    const { documents } = await convert([{ name: 'x', text }]);
    assert.deepEqual(
      documents.map(({ name, yaml }) => [name, /version: (v\S+)/.exec(yaml)?.[1]]),
      [
        ['one', 'v1.33.1'],
        ['two', 'v1.34.1'],
      ],
    );
  });

  test('the same object twice is one; two versions of it are an error', async () => {
    const once = stringify(config('a'));
    const twice = await convert([{ name: 'x', text: `${once}---\n${once}` }], { kubernetesVersion: 'v1.35.2' });
    assert.equal(twice.documents.length, 1);
    const other = stringify({ ...config('a'), spec: { joinConfiguration: { caCertPath: '/x' } } });
    const mixed = await convert([{ name: 'x', text: `${once}---\n${other}` }], { kubernetesVersion: 'v1.35.2' });
    assert.deepEqual(mixed.documents, []);
    assert.match(JSON.stringify(mixed.decisions), /it is given twice, with different contents/);
  });
});
