import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { stringify } from 'yaml';

type KubernetesObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: object;
};

const CORE = 'cluster.x-k8s.io/v1beta2';
const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io/v1beta2';
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io/v1beta2';

/** A small generator of numbers, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

/** One cluster with everything that belongs to it. Names repeat in every namespace, and between kinds. */
function cluster(namespace: string, name: string, number: number, next: (below: number) => number): KubernetesObject[] {
  const uid = (what: string): string => `${namespace}-${name}-${what}`;
  const object = (
    apiVersion: string,
    kind: string,
    own: string,
    spec: object,
    metadata: Readonly<Record<string, unknown>> = {},
  ): KubernetesObject => ({
    apiVersion,
    kind,
    metadata: { name: own, namespace, uid: uid(`${kind}-${own}`), ...metadata },
    spec,
  });
  const owner = (apiVersion: string, kind: string, own: string) => ({
    ownerReferences: [{ apiVersion, kind, name: own, uid: uid(`${kind}-${own}`) }],
  });
  const of = (kind: string, own: string) => ({
    apiGroup: kind === 'KubeadmControlPlane' ? 'controlplane.cluster.x-k8s.io' : 'bootstrap.cluster.x-k8s.io',
    kind,
    name: own,
  });
  const version = (what: number): string => `v1.${32 + (what % 3)}.${number}`;
  const label = { labels: { 'cluster.x-k8s.io/cluster-name': name } };
  const related = next(3);
  const objects = [
    object(CORE, 'Cluster', name, {
      clusterNetwork: { pods: { cidrBlocks: [`10.${number}.0.0/16`] } },
      controlPlaneEndpoint: { host: `${namespace}-${name}.example`, port: 6443 },
      controlPlaneRef: of('KubeadmControlPlane', name),
    }),
    object(
      CONTROL_PLANE,
      'KubeadmControlPlane',
      name,
      { version: version(0), kubeadmConfigSpec: { preKubeadmCommands: [`echo ${namespace} ${name}`] } },
      // By one relation, by another, and by controlPlaneRef alone.
      related === 0 ? owner(CORE, 'Cluster', name) : related === 1 ? label : {},
    ),
    // The name of the control plane, of another kind.
    object(BOOTSTRAP, 'KubeadmConfigTemplate', name, {
      template: {
        spec: { joinConfiguration: { nodeRegistration: { kubeletExtraArgs: [{ name: 'v', value: '2' }] } } },
      },
    }),
    object(CORE, 'MachineDeployment', `${name}-md`, {
      clusterName: name,
      template: {
        spec: { clusterName: name, version: version(1), bootstrap: { configRef: of('KubeadmConfigTemplate', name) } },
      },
    }),
    object(
      CORE,
      'MachineSet',
      `${name}-md-old`,
      {
        clusterName: name,
        template: {
          spec: { clusterName: name, version: 'v1.30.1', bootstrap: { configRef: of('KubeadmConfigTemplate', name) } },
        },
      },
      owner(CORE, 'MachineDeployment', `${name}-md`),
    ),
    object(
      BOOTSTRAP,
      'KubeadmConfig',
      `${name}-0`,
      { joinConfiguration: {} },
      owner(CORE, 'Machine', `${name}-machine`),
    ),
    object(CORE, 'Machine', `${name}-machine`, {
      clusterName: name,
      version: version(2),
      bootstrap: { configRef: of('KubeadmConfig', `${name}-0`), dataSecretName: `${name}-0` },
    }),
  ];
  return objects;
}

const NAMESPACES = ['red', 'blue', 'green'];
const NAMES = ['main', 'prod'];

async function outcome(objects: readonly object[], shape: number) {
  const text =
    shape === 0
      ? objects.map((object) => stringify(object)).join('---\n')
      : JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { documents, decisions } = await convert([{ name: 'fleet', text }]);
  const errors = decisions.filter(({ severity }) => severity === 'error');
  assert.deepEqual(errors, []);
  return {
    documents: new Map(documents.map(({ namespace, name, role, yaml }) => [`${namespace}/${name} ${role}`, yaml])),
    decisions,
  };
}

describe('in a fleet every output depends on its own objects only', () => {
  for (let seed = 1; seed <= 12; seed++) {
    test(`seed ${seed}`, async () => {
      const next = numbers(seed);
      const clusters = NAMESPACES.flatMap((namespace, row) =>
        NAMES.flatMap((name, column) => (next(4) === 0 ? [] : [cluster(namespace, name, row * 10 + column, next)])),
      );
      // Of other groups and kinds, with the same names.
      const others = NAMESPACES.flatMap((namespace) => [
        { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata: { name: 'main', namespace }, spec: {} },
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'main-0', namespace }, data: { x: 'eA==' } },
      ]);
      const shuffled = [...clusters.flat(), ...others]
        .map((object) => ({ object, order: next(1_000_000) }))
        .sort((a, b) => a.order - b.order)
        .map(({ object }) => object);
      const shape = seed % 2;
      const whole = await outcome(shuffled, shape);
      const separate = new Map<string, string>();
      for (const own of clusters)
        for (const [key, yaml] of (await outcome(own, shape)).documents) separate.set(key, yaml);
      assert.deepEqual([...whole.documents].sort(), [...separate].sort());
      assert.equal(whole.documents.size, clusters.length * 4);
      assert.deepEqual(
        whole.decisions.filter(({ code }) => /^Relation|^ClusterAssumed/.test(code)),
        [],
      );
    });
  }
});
