import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { relatedObjectsOf } from '@machineadm/convert/cluster-class/related-objects.ts';
import type { ConvertOptions, RelatedFacts } from '@machineadm/convert/inputs/conversion.ts';
import type { InputObject } from '@machineadm/convert/inputs/input.ts';
import { Relations } from '@machineadm/convert/relations/relations.ts';
import { Report } from '@machineadm/convert/report/report.ts';

type Value = Readonly<Record<string, unknown>>;

const GROUPS: readonly (readonly [RegExp, string])[] = [
  [/^KubeadmConfig/, 'bootstrap.cluster.x-k8s.io'],
  [/^KubeadmControlPlane/, 'controlplane.cluster.x-k8s.io'],
  [/^Secret$/, ''],
];

function object(
  kind: string,
  name: string,
  value: Value = {},
  group = GROUPS.find(([pattern]) => pattern.test(kind))?.[1] ?? 'cluster.x-k8s.io',
): InputObject {
  return {
    kind,
    group,
    version: 'v1beta1',
    name,
    namespace: 'clusters',
    value,
    title: `${kind} clusters/${name}`,
    origin: 'input',
  };
}
const ownedBy = (kind: string, name: string): Value => ({ metadata: { ownerReferences: [{ kind, name }] } });
const configRef = (name: string): Value => ({ spec: { bootstrap: { configRef: { name } } } });
const templated = (spec: Value): Value => ({ spec: { template: { spec } } });

function around(
  of: InputObject | undefined,
  beside: readonly InputObject[],
  options: ConvertOptions = {},
): RelatedFacts {
  const objects = of === undefined ? beside : [of, ...beside];
  return relatedObjectsOf(of, new Relations(objects, new Report()), options, 'input');
}

const CONFIG = object('KubeadmConfig', 'c-1');
const NOTHING: RelatedFacts = {
  machine: { name: 'c-1', namespace: 'clusters', uid: undefined, isMachine: true },
  hasCluster: false,
  clusterName: undefined,
  kubernetesVersion: undefined,
  controlPlaneVersion: undefined,
  endpoint: undefined,
  podSubnets: [],
  serviceSubnets: [],
  dnsDomain: undefined,
  infrastructure: undefined,
  ofControlPlane: false,
  kind: undefined,
  namespace: 'clusters',
};

describe('the objects related to a configuration', () => {
  test('are none where it is alone, or where there is not even one', () => {
    assert.deepEqual(around(CONFIG, []), NOTHING);
    assert.deepEqual(around(undefined, []), {
      ...NOTHING,
      machine: { name: 'machine', namespace: undefined, uid: undefined, isMachine: false },
      namespace: undefined,
    });
  });

  const machines: readonly (readonly [string, InputObject, InputObject, boolean])[] = [
    ['that refers to it', CONFIG, object('Machine', 'm', configRef('c-1')), true],
    ['that refers to another', CONFIG, object('Machine', 'm', configRef('c-2')), false],
    ['that owns it', object('KubeadmConfig', 'x', ownedBy('Machine', 'm')), object('Machine', 'm'), true],
    [
      'of another name than its owner',
      object('KubeadmConfig', 'x', ownedBy('Machine', 'n')),
      object('Machine', 'm'),
      false,
    ],
    [
      'of another kind than its owner',
      object('KubeadmConfig', 'x', ownedBy('Node', 'm')),
      object('Machine', 'm'),
      false,
    ],
    [
      'that refers to the Secret',
      object('Secret', 's'),
      object('Machine', 'm', { spec: { bootstrap: { dataSecretName: 's' } } }),
      true,
    ],
    [
      'whose configuration the Secret is named after',
      object('Secret', 's'),
      object('Machine', 'm', configRef('s')),
      true,
    ],
    [
      'whose Secret has the name of the configuration',
      CONFIG,
      object('Machine', 'm', { spec: { bootstrap: { dataSecretName: 'c-1' } } }),
      false,
    ],
  ];
  for (const [what, of, machine, isIts] of machines) {
    test(`${isIts ? 'include' : 'do not include'} the Machine ${what}`, () => {
      const { machine: found } = around(of, [machine]);
      assert.deepEqual(found, { name: isIts ? 'm' : of.name, namespace: 'clusters', uid: undefined, isMachine: true });
    });
  }

  for (const kind of ['MachineDeployment', 'MachineSet', 'MachinePool']) {
    test(`give it the version of the ${kind} that creates its machines`, () => {
      const value = templated({ version: 'v1.33.0', bootstrap: { configRef: { name: 't' } } });
      const found = around(object('KubeadmConfigTemplate', 't'), [object(kind, 'd', value)]);
      assert.deepEqual([found.kubernetesVersion, found.machine.name, found.machine.isMachine], ['v1.33.0', 't', false]);
    });
  }

  test('name a machine only for an object of a single machine', () => {
    for (const [kind, isMachine] of [
      ['KubeadmConfig', true],
      ['Secret', true],
      ['KubeadmConfigTemplate', false],
      ['KubeadmControlPlane', false],
    ] as const)
      assert.equal(around(object(kind, 'x'), []).machine.isMachine, isMachine, kind);
    const uid = { metadata: { uid: 'u-1' }, ...configRef('c-1') };
    assert.equal(around(CONFIG, [object('Machine', 'm', uid)]).machine.uid, 'u-1');
    assert.equal(around(object('KubeadmConfig', 'c', { metadata: { uid: 'no' } }), []).machine.uid, undefined);
  });

  const owners: readonly (readonly [string, InputObject, readonly InputObject[], boolean])[] = [
    ['a control plane itself', object('KubeadmControlPlane', 'x'), [], true],
    ['its template', object('KubeadmControlPlaneTemplate', 'x'), [], true],
    ['what a control plane owns', object('KubeadmConfig', 'x', ownedBy('KubeadmControlPlane', 'k')), [], true],
    [
      'what belongs to a machine that a control plane owns',
      CONFIG,
      [object('Machine', 'm', { ...ownedBy('KubeadmControlPlane', 'k'), ...configRef('c-1') })],
      true,
    ],
    ['what a set owns', object('KubeadmConfig', 'x', ownedBy('MachineSet', 'k')), [], false],
  ];
  for (const [what, of, beside, expected] of owners)
    test(`say that ${what} ${expected ? 'is' : 'is not'} of a control plane`, () =>
      assert.equal(around(of, beside).ofControlPlane, expected));
});

describe('the cluster of a configuration', () => {
  const clusters = [object('Cluster', 'one'), object('Cluster', 'two')];
  const table: readonly (readonly [string, InputObject, readonly InputObject[], string | undefined])[] = [
    ['is the only one', CONFIG, clusters.slice(0, 1), 'one'],
    ['is none of several', CONFIG, clusters, undefined],
    [
      'is the one of its label',
      object('KubeadmConfig', 'x', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'two' } } }),
      clusters,
      'two',
    ],
    ['is the one that owns it', object('KubeadmConfig', 'x', ownedBy('Cluster', 'two')), clusters, 'two'],
    [
      'is not one of the name of another owner',
      object('KubeadmConfig', 'x', ownedBy('Machine', 'two')),
      clusters,
      undefined,
    ],
    ['is the one that it names', object('Machine', 'x', { spec: { clusterName: 'two' } }), clusters, 'two'],
    ['is named where it is not there', object('Machine', 'x', { spec: { clusterName: 'three' } }), clusters, 'three'],
    [
      'is the one of its machine before its own',
      object('KubeadmConfig', 'c-1', ownedBy('Cluster', 'one')),
      [
        ...clusters,
        object('Machine', 'm', { spec: { clusterName: 'two', bootstrap: { configRef: { name: 'c-1' } } } }),
      ],
      'two',
    ],
    [
      'is the one that refers to the control plane',
      object('KubeadmControlPlane', 'k'),
      [clusters[0] ?? CONFIG, object('Cluster', 'two', { spec: { controlPlaneRef: { name: 'k' } } })],
      'two',
    ],
    [
      'is the one of the deployment',
      object('KubeadmConfigTemplate', 't'),
      [
        ...clusters,
        object('MachineDeployment', 'd', {
          spec: { clusterName: 'two', ...(templated({ bootstrap: { configRef: { name: 't' } } }).spec as Value) },
        }),
      ],
      'two',
    ],
  ];
  for (const [what, of, beside, expected] of table)
    test(what, () => assert.equal(around(of, beside).clusterName, expected));

  test('gives its networks and its domain', () => {
    const clusterNetwork = {
      pods: { cidrBlocks: ['10.0.0.0/16', 5, 'fd00::/48'] },
      services: { cidrBlocks: ['10.1.0.0/16'] },
      serviceDomain: 'cluster.example',
    };
    const found = around(CONFIG, [object('Cluster', 'one', { spec: { clusterNetwork } })]);
    assert.deepEqual(
      [found.podSubnets, found.serviceSubnets, found.dnsDomain],
      [['10.0.0.0/16', 'fd00::/48'], ['10.1.0.0/16'], 'cluster.example'],
    );
  });

  for (const [host, port, expected] of [
    ['api.example', 6443, 'api.example:6443'],
    ['fd00::1', 6443, '[fd00::1]:6443'],
    ['[fd00::1]', 6443, '[fd00::1]:6443'],
    ['api.example', 0, 'api.example'],
    ['api.example', undefined, 'api.example'],
    ['', 6443, undefined],
    [undefined, 6443, undefined],
  ] as const) {
    test(`has ${expected === undefined ? 'no endpoint' : `the endpoint ${expected}`} with host ${host} and port ${port}`, () => {
      const found = around(CONFIG, [object('Cluster', 'one', { spec: { controlPlaneEndpoint: { host, port } } })]);
      assert.equal(found.endpoint, expected);
    });
  }
});

describe('the version of Kubernetes', () => {
  const machine = (version?: string) =>
    object('Machine', 'm', { spec: { version, bootstrap: { configRef: { name: 'c-1' } } } });
  const set = object('MachineSet', 's', templated({ version: 'v2', bootstrap: { configRef: { name: 'c-1' } } }));
  const config = object('KubeadmConfig', 'c-1', { spec: { version: 'v3' } });

  test('is that of the machine, else of what makes it, else of the object', () => {
    assert.equal(around(config, [machine('v1'), set]).kubernetesVersion, 'v1');
    assert.equal(around(config, [machine(), set]).kubernetesVersion, 'v2');
    assert.equal(around(config, [machine()]).kubernetesVersion, 'v3');
  });

  test('of the control plane is the one asked for, else that of the only control plane, else of the topology', () => {
    const plane = (name: string, version: string) => object('KubeadmControlPlane', name, { spec: { version } });
    const cluster = object('Cluster', 'one', { spec: { topology: { version: 'v9' } } });
    const beside = [plane('a', 'v5'), cluster];
    assert.equal(around(CONFIG, beside, { controlPlaneVersion: 'v4' }).controlPlaneVersion, 'v4');
    assert.equal(around(CONFIG, beside).controlPlaneVersion, 'v5');
    assert.equal(around(CONFIG, [...beside, plane('b', 'v6')]).controlPlaneVersion, 'v9');
    assert.equal(around(plane('b', 'v6'), beside).controlPlaneVersion, 'v6');
  });
});

describe('the kind of infrastructure', () => {
  const ref = (kind: string): Value => ({ infrastructureRef: { kind } });
  const table: readonly (readonly [string, InputObject, readonly InputObject[], string | undefined])[] = [
    [
      'is that of the machine',
      CONFIG,
      [object('Machine', 'm', { spec: { ...ref('AWSMachine'), bootstrap: { configRef: { name: 'c-1' } } } })],
      'AWSMachine',
    ],
    [
      'is that of the control plane',
      object('KubeadmControlPlane', 'k', { spec: { machineTemplate: ref('AzureMachineTemplate') } }),
      [],
      'AzureMachineTemplate',
    ],
    [
      'is that of the newer control plane',
      object('KubeadmControlPlane', 'k', { spec: { machineTemplate: { spec: ref('GCPMachineTemplate') } } }),
      [],
      'GCPMachineTemplate',
    ],
    [
      'is that of the deployment',
      object('KubeadmConfigTemplate', 't'),
      [
        object(
          'MachineDeployment',
          'd',
          templated({ ...ref('DockerMachineTemplate'), bootstrap: { configRef: { name: 't' } } }),
        ),
      ],
      'DockerMachineTemplate',
    ],
    [
      'is that of an object beside it',
      CONFIG,
      [object('Cluster', 'one'), object('VSphereCluster', 'v', {}, 'infrastructure.cluster.x-k8s.io')],
      'VSphereCluster',
    ],
    ['is none of an object of another group', CONFIG, [object('Cluster', 'one')], undefined],
  ];
  for (const [what, of, beside, expected] of table)
    test(what, () => assert.equal(around(of, beside).infrastructure, expected));
});
