import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { parse, stringify } from 'yaml';

const TOKEN = 'abcdef.0123456789abcde0';
const KEY = 'c0ffee00'.repeat(8);
const HASH = `sha256:${'a1'.repeat(32)}`;

async function converted(given: readonly string[] | Readonly<Record<string, string>>, options: ConvertOptions = {}) {
  const texts = Object.entries(given).map(([name, text]) => ({ name, text }));
  const { documents, decisions } = await convert(texts, options);
  return {
    documents: documents.map(({ yaml }) => parse(yaml)),
    stems: documents.map(({ stem, role }) => `${stem} ${role}`),
    decisions,
    codes: decisions.map(({ code }) => code),
    errors: decisions.filter(({ severity }) => severity === 'error').map(({ at, message }) => `${at}: ${message}`),
  };
}

const all = (...documents: readonly object[]): string => documents.map((one) => stringify(one)).join('---\n');
const kubeadm = (version: string, kind: string, more: object = {}): object => ({
  apiVersion: `kubeadm.k8s.io/${version}`,
  kind,
  ...more,
});
const INIT = kubeadm('v1beta4', 'InitConfiguration', {
  bootstrapTokens: [{ token: TOKEN, ttl: '2h0m0s' }],
  certificateKey: KEY,
  localAPIEndpoint: { advertiseAddress: '10.0.0.1', bindPort: 6443 },
  nodeRegistration: { name: 'cp-0', taints: [], kubeletExtraArgs: [{ name: 'node-ip', value: '10.0.0.1' }] },
  timeouts: { kubeletHealthCheck: '3m0s' },
});
const CLUSTER = kubeadm('v1beta4', 'ClusterConfiguration', {
  kubernetesVersion: '1.35.2',
  clusterName: 'prod',
  controlPlaneEndpoint: 'api.example:6443',
  networking: { podSubnet: '10.244.0.0/16' },
  apiServer: { extraArgs: [{ name: 'profiling', value: 'false' }] },
  scheduler: {},
});
const KUBELET = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', maxPods: 200 };
const PROXY = { apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind: 'KubeProxyConfiguration', mode: 'ipvs' };
const JOIN = kubeadm('v1beta4', 'JoinConfiguration', {
  discovery: { bootstrapToken: { token: TOKEN, apiServerEndpoint: 'api.example:6443', caCertHashes: [HASH] } },
  nodeRegistration: { name: 'w-0' },
});

describe("kubeadm's own YAML becomes a document", () => {
  test('init with its four kinds: secrets are lifted, and each field has its place', async () => {
    const { documents, stems, errors, decisions } = await converted({
      '/etc/init.yaml': all(INIT, CLUSTER, KUBELET, PROXY),
    });
    assert.deepEqual([errors, stems], [[], ['init InitControlPlane']]);
    const [{ metadata, secrets, kubernetes }] = documents;
    assert.equal(metadata.name, 'cp-0');
    assert.deepEqual(secrets, { bootstrapToken: { value: TOKEN }, certificateKey: { value: KEY } });
    assert.deepEqual(kubernetes, {
      version: 'v1.35.2',
      role: 'InitControlPlane',
      bootstrapper: { kubeadm: { extraDocuments: [KUBELET, PROXY] } },
      cluster: {
        name: 'prod',
        controlPlaneEndpoint: 'api.example:6443',
        podSubnets: ['10.244.0.0/16'],
        bootstrapTokens: [{ token: { secret: 'bootstrapToken' }, ttl: '2h' }],
      },
      controlPlane: {
        apiEndpoint: { advertiseAddress: '10.0.0.1', bindPort: 6443 },
        apiServer: { args: [{ name: 'profiling', value: 'false' }] },
        certificateKey: { secret: 'certificateKey' },
      },
      node: { name: 'cp-0', taints: [], kubelet: { args: [{ name: 'node-ip', value: '10.0.0.1' }] } },
      timeouts: { kubelet: '3m' },
    });
    assert.ok(!JSON.stringify(decisions).includes(TOKEN) && !JSON.stringify(decisions).includes(KEY));
  });

  test('the maps and timeouts of v1beta3 are those of v1beta4', async () => {
    const older = [
      kubeadm('v1beta3', 'InitConfiguration', {
        nodeRegistration: { kubeletExtraArgs: { v: '2', 'node-ip': '10.0.0.9' } },
      }),
      kubeadm('v1beta3', 'ClusterConfiguration', {
        kubernetesVersion: 'v1.30.4',
        apiServer: { timeoutForControlPlane: '5m0s', extraArgs: { profiling: 'false' } },
      }),
    ];
    const { documents, errors } = await converted({ a: all(...older) });
    assert.deepEqual(errors, []);
    const { node, timeouts, controlPlane } = documents[0].kubernetes;
    assert.deepEqual(node.kubelet.args, [
      { name: 'node-ip', value: '10.0.0.9' },
      { name: 'v', value: '2' },
    ]);
    assert.deepEqual([timeouts, controlPlane.apiServer.args.length], [{ controlPlane: '5m' }, 1]);
  });

  test('join: the version comes from the option, or from the ConfigMap of the cluster', async () => {
    const missing = await converted({ join: all(JOIN) });
    assert.deepEqual([missing.documents, missing.codes], [[], ['VersionMissing']]);
    const { documents, codes } = await converted({ join: all(JOIN) }, { kubernetesVersion: 'v1.34.2' });
    assert.deepEqual(codes, ['SecretInDocument']);
    assert.equal(documents[0].kubernetes.role, 'Worker');
    assert.deepEqual(documents[0].kubernetes.node, { name: 'w-0' });
    const stored = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kubeadm-config', namespace: 'kube-system' },
      data: { ClusterConfiguration: stringify(CLUSTER) },
    };
    const beside = await converted({ join: all(JOIN), cluster: all(stored) });
    assert.deepEqual(beside.errors, []);
    const [{ kubernetes }] = beside.documents;
    assert.deepEqual([beside.documents.length, kubernetes.version, kubernetes.role], [1, 'v1.35.2', 'Worker']);
    const alone = await converted({ cluster: all(stored) });
    assert.deepEqual(
      alone.documents.map((one) => one.kubernetes.role),
      ['InitControlPlane'],
    );
  });

  test('a file for both commands becomes two documents; --role chooses one', async () => {
    const both = { node: all(INIT, CLUSTER, { ...JOIN, controlPlane: { certificateKey: KEY } }) };
    const { stems } = await converted(both);
    assert.deepEqual(stems, ['node InitControlPlane', 'node JoinControlPlane']);
    const { documents } = await converted(both, { role: 'JoinControlPlane' });
    assert.deepEqual(
      documents.map(({ kubernetes }) => kubernetes.role),
      ['JoinControlPlane'],
    );
    assert.deepEqual(documents[0].kubernetes.controlPlane.certificateKey, { secret: 'certificateKey' });
    const none = await converted(both, { role: 'Worker' });
    assert.deepEqual(none.codes.filter((code) => code === 'RoleUnclear').length, 1);
  });

  test('a kubeconfig beside it is the discovery file, with its token as a secret', async () => {
    const join = { ...JOIN, discovery: { file: { kubeConfigPath: '/etc/kubernetes/boot.conf' } } };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://api.example:6443' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
      users: [{ name: 'u', user: { token: 'bearer-7Jw' } }],
    };
    const options = { kubernetesVersion: 'v1.34.2' };
    const { documents, errors } = await converted({ a: all(join), '/tmp/boot.conf': all(kubeconfig) }, options);
    assert.deepEqual(errors, []);
    assert.deepEqual(documents[0].kubernetes.join.discovery.file, {
      path: '/etc/kubernetes/boot.conf',
      kubeconfig: { server: 'https://api.example:6443', user: { token: { secret: 'discoveryToken' } } },
    });
    assert.deepEqual(documents[0].secrets.discoveryToken, { value: 'bearer-7Jw' });
    const other = await converted({ a: all(join), 'other.conf': all(kubeconfig) }, options);
    assert.deepEqual(other.codes, ['ObjectIgnored']);
    assert.deepEqual(other.documents[0].kubernetes.join.discovery, { file: { path: '/etc/kubernetes/boot.conf' } });
  });

  test('several files are several machines', async () => {
    const { stems } = await converted({ 'a.yaml': all(JOIN), 'b.yaml': all(JOIN) }, { kubernetesVersion: 'v1.34.2' });
    assert.deepEqual(stems, ['a Worker', 'b Worker']);
  });
});

describe('what kubeadm would not take is told with its place', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'an unknown version',
      all(kubeadm('v1alpha3', 'InitConfiguration')),
      /^a InitConfiguration: apiVersion: .*migrate/,
    ],
    ['a kind twice', all(CLUSTER, INIT, INIT), /^a InitConfiguration: given twice/],
    ['a component alone', all(KUBELET), /^a: kubeadm reads it only beside/],
    ['a version that is looked up', all({ ...CLUSTER, kubernetesVersion: 'stable-1' }), /not exact/],
    [
      'no hash of the CA',
      all({ ...JOIN, discovery: { bootstrapToken: { token: TOKEN, apiServerEndpoint: 'a:1' } } }),
      /cannot be verified/,
    ],
  ];
  for (const [what, text, message] of cases) {
    test(what, async () => {
      const options = what.startsWith('no hash') ? { kubernetesVersion: 'v1.34.2' } : {};
      const { documents, errors } = await converted({ a: text }, options);
      assert.deepEqual(documents, []);
      assert.ok(
        errors.some((one) => message.test(one)),
        errors.join('\n'),
      );
    });
  }

  test('fields without a counterpart, and kinds for other commands', async () => {
    const text = all(
      { ...INIT, dryRun: true, surprise: 1 },
      CLUSTER,
      kubeadm('v1beta4', 'ResetConfiguration', { force: true }),
    );
    const { decisions } = await converted({ a: text });
    assert.deepEqual(
      decisions.filter(({ code }) => code !== 'SecretInDocument').map(({ code, at }) => `${code} ${at}`),
      [
        'ObjectIgnored a ResetConfiguration',
        'FieldWithoutCounterpart a InitConfiguration: dryRun',
        'UnknownField a InitConfiguration: surprise',
      ],
    );
  });

  test('examples of `kubeadm config print` and variables of a template', async () => {
    const join = { ...JOIN, nodeRegistration: { name: '${' + 'NODE}' } };
    const init = { ...INIT, localAPIEndpoint: { advertiseAddress: '1.2.3.4' } };
    const { decisions } = await converted({ a: all(init, CLUSTER, join) });
    assert.deepEqual(
      decisions
        .filter(({ code }) => code === 'ExampleValue' || code === 'TemplateUnrendered')
        .map(({ code, at }) => `${code} ${at}`),
      [
        'TemplateUnrendered a JoinConfiguration: nodeRegistration.name',
        'ExampleValue a InitConfiguration: localAPIEndpoint.advertiseAddress',
      ],
    );
  });
});
