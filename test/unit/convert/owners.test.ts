import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { codesOf, converting } from '../../support/capi.ts';

const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io/v1beta2';
const CORE = 'cluster.x-k8s.io/v1beta2';
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io/v1beta2';

function template(name: string, spec: object = {}, kind = 'KubeadmConfigTemplate'): object {
  const inner = kind === 'KubeadmConfigTemplate' ? spec : { kubeadmConfigSpec: spec };
  const apiVersion = kind === 'KubeadmConfigTemplate' ? BOOTSTRAP : CONTROL_PLANE;
  return { apiVersion, kind, metadata: { name }, spec: { template: { spec: inner } } };
}

function workers(kind: string, name: string, configuration: string, version: string): object {
  const bootstrap = { configRef: { kind: 'KubeadmConfigTemplate', name: configuration } };
  return {
    apiVersion: CORE,
    kind,
    metadata: { name },
    spec: { clusterName: 'c', template: { spec: { version, bootstrap } } },
  };
}

const CLUSTER = {
  apiVersion: CORE,
  kind: 'Cluster',
  metadata: { name: 'c' },
  spec: { controlPlaneEndpoint: { host: 'api.example', port: 6443 } },
};
const CLASS = {
  apiVersion: CORE,
  kind: 'ClusterClass',
  metadata: { name: 'class' },
  spec: {
    controlPlane: { templateRef: { kind: 'KubeadmControlPlaneTemplate', name: 'cp' } },
    workers: {
      machineDeployments: [{ class: 'w', bootstrap: { templateRef: { kind: 'KubeadmConfigTemplate', name: 'w' } } }],
    },
  },
};
const WITH_TOPOLOGY = {
  ...CLUSTER,
  spec: { ...CLUSTER.spec, topology: { classRef: { name: 'class' }, version: 'v1.34.3' } },
};
const CONTROL_PLANE_OBJECT = {
  apiVersion: CONTROL_PLANE,
  kind: 'KubeadmControlPlane',
  metadata: { name: 'cp' },
  spec: { version: 'v1.33.9', kubeadmConfigSpec: { joinConfiguration: {} } },
};

async function roles(objects: readonly object[], options: Parameters<typeof converting>[1] = {}) {
  const conversion = await converting(objects, options);
  const found = conversion.documents.map(({ name, role, yaml }) => [name, role, parse(yaml).kubernetes.version]);
  return { conversion, found };
}

describe('role and version come from the object that creates the machines', () => {
  test('several in one file: each from its own owner', async () => {
    const { found } = await roles([
      CLUSTER,
      CONTROL_PLANE_OBJECT,
      template('a', { joinConfiguration: {} }),
      workers('MachineDeployment', 'md', 'a', 'v1.32.11'),
      // Without a joinConfiguration the provider makes a worker with its defaults.
      template('b', { files: [{ path: '/etc/b', content: 'b' }] }),
      workers('MachinePool', 'mp', 'b', 'v1.31.14'),
    ]);
    assert.deepEqual(found, [
      ['cp', 'InitControlPlane', 'v1.33.9'],
      ['cp', 'JoinControlPlane', 'v1.33.9'],
      ['a', 'Worker', 'v1.32.11'],
      ['b', 'Worker', 'v1.31.14'],
    ]);
  });

  test('a ClusterClass gives roles, and the topology of its Cluster the version', async () => {
    const { found } = await roles([
      WITH_TOPOLOGY,
      CLASS,
      template('cp', {}, 'KubeadmControlPlaneTemplate'),
      template('w'),
    ]);
    assert.deepEqual(found, [
      ['cp', 'InitControlPlane', 'v1.34.3'],
      ['cp', 'JoinControlPlane', 'v1.34.3'],
      ['w', 'Worker', 'v1.34.3'],
    ]);
  });

  test('--kubernetes-version fills in what the input leaves open, and never overrides it', async () => {
    const open = template('open', { joinConfiguration: {} });
    const { conversion, found } = await roles([CLUSTER, CONTROL_PLANE_OBJECT, open], { kubernetesVersion: 'v1.35.2' });
    assert.deepEqual(
      found.map(([name, , version]) => [name, version]),
      [
        ['cp', 'v1.33.9'],
        ['cp', 'v1.33.9'],
        ['open', 'v1.35.2'],
      ],
    );
    assert.ok(codesOf(conversion, 'note').includes('WithoutEffect'));
  });

  test('machines of a MachineDeployment are no control plane, whatever their configuration says', async () => {
    const objects = [
      CLUSTER,
      template('a', { joinConfiguration: { controlPlane: {} } }),
      workers('MachineDeployment', 'md', 'a', 'v1.32.11'),
    ];
    const { conversion, found } = await roles(objects);
    assert.deepEqual([found, codesOf(conversion, 'error')], [[], ['RoleUnclear']]);
    assert.match(
      conversion.decisions.find(({ code }) => code === 'RoleUnclear')?.message ?? '',
      /its machines are workers, and joinConfiguration\.controlPlane is set/,
    );
  });

  test('--role picks documents, and never makes a control plane of a worker', async () => {
    const worker = template('a', { joinConfiguration: {} });
    const objects = [CLUSTER, CONTROL_PLANE_OBJECT, worker];
    const version = { kubernetesVersion: 'v1.35.2' };
    assert.deepEqual((await roles(objects, { ...version, role: 'Worker' })).found, [['a', 'Worker', 'v1.35.2']]);
    assert.deepEqual((await roles(objects, { ...version, role: 'JoinControlPlane' })).found, [
      ['cp', 'JoinControlPlane', 'v1.33.9'],
    ]);
    const refused = await roles([CLUSTER, worker], { ...version, role: 'JoinControlPlane' });
    assert.deepEqual([refused.found, codesOf(refused.conversion, 'error')], [[], ['RoleUnclear']]);
  });

  test('a KubeadmConfig without configurations is what the label of its Machine says, else it is open', async () => {
    const config = { apiVersion: BOOTSTRAP, kind: 'KubeadmConfig', metadata: { name: 'm' }, spec: {} };
    const machine = (labels: object) => ({
      apiVersion: CORE,
      kind: 'Machine',
      metadata: { name: 'm', labels },
      spec: { version: 'v1.35.2', clusterName: 'c', bootstrap: { configRef: { kind: 'KubeadmConfig', name: 'm' } } },
    });
    assert.deepEqual((await roles([CLUSTER, config, machine({})])).found, [['m', 'Worker', 'v1.35.2']]);
    const alone = await roles([CLUSTER, config], { kubernetesVersion: 'v1.35.2' });
    assert.deepEqual(codesOf(alone.conversion, 'error'), ['RoleUnclear']);
    const given = await roles([CLUSTER, config], { kubernetesVersion: 'v1.35.2', role: 'Worker' });
    assert.deepEqual(given.found, [['m', 'Worker', 'v1.35.2']]);
  });
});

describe('the machine that starts the cluster', () => {
  test('without a Cluster in the input is a decision, as without an endpoint in the Cluster', async () => {
    assert.deepEqual(codesOf((await roles([CONTROL_PLANE_OBJECT])).conversion, 'decision'), [
      'ClusterUnknown',
      'ControllerValueMissing',
    ]);
    const { conversion } = await roles([{ ...CLUSTER, spec: {} }, CONTROL_PLANE_OBJECT], { role: 'InitControlPlane' });
    assert.deepEqual(codesOf(conversion, 'decision'), ['ControllerValueMissing']);
    assert.match(conversion.documents[0]?.yaml ?? '', /controlPlaneEndpoint: \$\{endpoint\}/);
  });

  test('keeps pki when one of the Secrets is missing: the missing one is a decision', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'c-etcd' },
      data: { 'tls.crt': btoa('pem'), 'tls.key': btoa('key') },
    };
    const { conversion } = await roles([CLUSTER, CONTROL_PLANE_OBJECT, secret], { role: 'InitControlPlane' });
    const missing = conversion.decisions
      .filter(({ code }) => code === 'ControllerValueMissing')
      .map(({ message }) => message);
    assert.deepEqual(
      missing.map((message) => /Secret (\S+)/.exec(message)?.[1]),
      ['c-sa', 'c-ca', 'c-proxy'],
    );
    assert.ok(!codesOf(conversion, 'warning').includes('CertificatesByKubeadm'));
  });
});

test('commands and files that install Kubernetes are named', async () => {
  const spec = {
    joinConfiguration: {},
    files: [
      {
        path: '/install.sh',
        content: 'curl -L https://dl.k8s.io/v1.35.2/bin/linux/amd64/kubeadm -o /usr/bin/kubeadm\n',
      },
    ],
    preKubeadmCommands: [
      'apt-get update',
      'apt-get install -y kubelet=1.35.2-1.1 containerd',
      'systemctl restart kubelet',
    ],
  };
  const { decisions } = await converting([CLUSTER, template('a', spec)], { kubernetesVersion: 'v1.35.2' });
  const places = decisions
    .filter(({ code }) => code === 'InstallsKubernetes')
    .map(({ at }) => at.replace(/.*spec\./, ''));
  assert.deepEqual(places, ['files[0]', 'preKubeadmCommands[1]']);
});

test('a file at /dev/null, which keeps a place for patches, is no file of the document', async () => {
  const spec = {
    joinConfiguration: {},
    files: [{ path: '/dev/null', owner: 'root:root', permissions: '0644', content: 'x' }],
  };
  const conversion = await converting([CLUSTER, template('a', spec)], { kubernetesVersion: 'v1.35.2' });
  assert.equal(parse(conversion.documents[0]?.yaml ?? '').host, undefined);
  assert.ok(codesOf(conversion, 'note').includes('WithoutEffect'));
  assert.deepEqual(
    codesOf(conversion, 'decision').filter((code) => code !== 'ControllerValueMissing'),
    [],
  );
});
