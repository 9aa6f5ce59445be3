import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { stringify } from 'yaml';

const SECRET = 'K10c0ffee::server:s3cr3t-7Jw';

const REFUSED: readonly (readonly [string, object, string, RegExp])[] = [
  [
    'EKS NodeConfig',
    { apiVersion: 'node.eks.aws/v1alpha1', kind: 'NodeConfig', spec: { cluster: { name: 'c', cidr: SECRET } } },
    'NotKubeadm',
    /nodeadm joins a node.*keep nodeadm/,
  ],
  ['eksctl', { apiVersion: 'eksctl.io/v1alpha5', kind: 'ClusterConfig' }, 'NotKubeadm', /EKS/],
  ['kops', { apiVersion: 'kops.k8s.io/v1alpha2', kind: 'InstanceGroup' }, 'NotKubeadm', /nodeup.*keep kops/],
  [
    'Talos machine configuration',
    { version: 'v1alpha1', persist: true, machine: { type: 'worker', token: SECRET }, cluster: {} },
    'NotKubeadm',
    /Talos starts Kubernetes itself.*keep Talos/,
  ],
  ['Talos document', { apiVersion: 'v1alpha1', kind: 'HostnameConfig', hostname: 'a' }, 'NotKubeadm', /Talos/],
  ['k3s', { server: 'https://a:6443', token: SECRET, 'node-label': ['a=b'] }, 'NotKubeadm', /k3s.*bootstrapper\.exec/],
  ['k3s drop-in', { 'tls-san+': ['a'] }, 'NotKubeadm', /k3s/],
  ['RKE2', { token: SECRET, cni: 'cilium', profile: 'cis' }, 'NotKubeadm', /RKE2.*bootstrapper\.exec/],
  [
    'MicroK8s',
    { version: '0.2.0', persistentClusterToken: SECRET, addons: [{ name: 'dns' }] },
    'NotKubeadm',
    /MicroK8s is a snap.*bootstrapper\.exec/,
  ],
  ['k0s', { apiVersion: 'k0s.k0sproject.io/v1beta1', kind: 'ClusterConfig' }, 'NotKubeadm', /k0s.*exec/],
  ['kind', { apiVersion: 'kind.x-k8s.io/v1alpha4', kind: 'Cluster' }, 'NotKubeadm', /containers of its own image/],
  ['KubeOne', { apiVersion: 'kubeone.k8c.io/v1beta2', kind: 'KubeOneCluster' }, 'NotKubeadm', /--from-node/],
  [
    'OpenShift',
    { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig' },
    'NotKubeadm',
    /Machine Config Operator/,
  ],
  [
    'Butane',
    { variant: 'flatcar', version: '1.1.0', passwd: { users: [{ name: SECRET }] } },
    'ToolFirst',
    /butane --strict FILE > config\.ign/,
  ],
  ['Butane for OpenShift', { variant: 'openshift', version: '4.15.0' }, 'NotKubeadm', /OpenShift/],
  ['Container Linux Config', { systemd: { units: [] }, storage: {} }, 'ToolFirst', /ct < FILE > config\.ign/],
  ['cloud-config without its first line', { runcmd: [SECRET] }, 'ToolFirst', /#cloud-config/],
];

describe('a configuration of another world is refused with a way out', () => {
  for (const [what, value, code, message] of REFUSED) {
    for (const text of [stringify(value), JSON.stringify(value)]) {
      test(`${what}, ${text.startsWith('{') ? 'JSON' : 'YAML'}`, async () => {
        const { documents, decisions } = await convert([{ name: 'given', text }]);
        assert.deepEqual(documents, []);
        assert.deepEqual(
          decisions.map((one) => [one.code, one.severity, one.at]),
          [[code, 'error', 'given']],
        );
        assert.match(decisions[0]?.message ?? '', message);
        assert.ok(!JSON.stringify(decisions).includes(SECRET));
      });
    }
  }

  const talos = {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha3',
    kind: 'TalosConfigTemplate',
    metadata: { name: 'a', namespace: 'clusters' },
  };

  test('objects of other providers alone are an error that names them', async () => {
    const { decisions } = await convert([{ name: 'given', text: stringify(talos) }]);
    const errors = decisions.filter(({ severity }) => severity === 'error');
    assert.deepEqual(
      errors.map(({ code, at }) => `${code} ${at}`),
      ['NotKubeadm TalosConfigTemplate clusters/a', 'InputUnknown given'],
    );
  });

  test('beside our own they are ignored with the same words: a fleet is converted', async () => {
    const own = {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: { name: 'b', namespace: 'clusters' },
      spec: { joinConfiguration: {} },
    };
    const text = [talos, own].map((one) => stringify(one)).join('---\n');
    const { documents, decisions } = await convert([{ name: 'fleet', text }], { kubernetesVersion: 'v1.34.2' });
    assert.equal(documents.length, 1);
    const told = decisions.filter(({ at }) => at.startsWith('Talos'));
    assert.deepEqual(
      told.map(({ code }) => code),
      ['ObjectIgnored'],
    );
    assert.match(told[0]?.message ?? '', /Talos starts Kubernetes itself/);
  });
});
