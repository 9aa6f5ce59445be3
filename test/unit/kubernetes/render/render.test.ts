import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Argument, DiscoveryUser } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { kubeadmConfigVersion, type RenderInput, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { parse, parseAllDocuments } from 'yaml';
import {
  inlineSecret,
  type KubernetesOverrides,
  kubeadmOf,
  kubernetesModel,
  PLAIN_API_SERVER,
  PLAIN_ETCD,
  revealInline,
} from '../../../support/kubernetes-model.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const JOIN = {
  discovery: {
    token: inlineSecret(TOKEN, 'joinToken'),
    endpoint: '10.0.0.1:6443',
    caCertHashes: [`sha256:${'0'.repeat(64)}`],
    unsafeSkipCAVerification: false,
  },
  tlsBootstrapToken: undefined,
  caCertPath: '/etc/kubernetes/pki/ca.crt',
};
const WORKER: KubernetesOverrides = { role: 'Worker', join: JOIN };

type Options = Partial<Omit<RenderInput, 'kubernetes' | 'kubeadm'>>;

function render(overrides: KubernetesOverrides, kubeadm: string, options: Options = {}) {
  return renderKubeadm({
    kubernetes: kubernetesModel(overrides),
    kubeadm: kubeadmOf(kubeadm),
    secrets: revealInline,
    ...options,
  });
}

/** A document of the rendered text, so that what is tested is what kubeadm reads. */
function documentOf(kind: string, overrides: KubernetesOverrides, kubeadm: string, options: Options = {}) {
  const documents = parseAllDocuments(render(overrides, kubeadm, options).text).map((document) => document.toJS());
  return documents.find((document) => document.kind === kind);
}

/** The problems that make a model not expressible, as `field: problem`. */
function refusals(overrides: KubernetesOverrides, kubeadm: string): readonly string[] {
  try {
    render(overrides, kubeadm);
  } catch (error) {
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'NotExpressible');
    assert.notEqual(error.remedy, '');
    return error.evidence.map(({ source, text }) => `${source}: ${text}`);
  }
  return [];
}

function kubelet(args: readonly Argument[], config: Record<string, unknown> = {}) {
  return { kubelet: { args, config } };
}

describe('the configuration version follows the kubeadm binary', () => {
  for (const [kubeadm, expected] of [
    ['1.20.2', 'v1beta2'],
    ['1.21.14', 'v1beta2'],
    ['1.22.0', 'v1beta3'],
    ['1.30.9', 'v1beta3'],
    ['1.31.0', 'v1beta4'],
    ['1.37.1', 'v1beta4'],
    ['1.45.0', 'v1beta4'],
    ['2.0.0', 'v1beta4'],
  ] as const) {
    test(`${kubeadm} reads ${expected}`, () => assert.equal(kubeadmConfigVersion(kubeadmOf(kubeadm)), expected));
  }

  for (const kubeadm of ['1.19.16', '0.9.0']) {
    test(`${kubeadm} is refused, and what is supported is named`, () => {
      assert.throws(
        () => kubeadmConfigVersion(kubeadmOf(kubeadm)),
        (error) =>
          error instanceof MachineadmError &&
          error.reason === 'KubeadmUnsupported' &&
          /1\.20 .*1\.37/.test(error.message),
      );
    });
  }
});

describe('a setting is elsewhere in an older version', () => {
  test("the control plane's timeout stands with the API server", () => {
    const wish: KubernetesOverrides = { timeouts: { controlPlaneMs: 90_500 } };
    assert.deepEqual(documentOf('ClusterConfiguration', wish, '1.30.0').apiServer, {
      timeoutForControlPlane: '1m30.5s',
    });
    assert.deepEqual(documentOf('InitConfiguration', wish, '1.31.0').timeouts, {
      controlPlaneComponentHealthCheck: '1m30.5s',
    });
    assert.equal(documentOf('ClusterConfiguration', wish, '1.31.0').apiServer, undefined);
  });

  test("discovery's timeout stands with discovery", () => {
    const wish = { ...WORKER, timeouts: { discoveryMs: 120_000 } };
    assert.equal(documentOf('JoinConfiguration', wish, '1.30.0').discovery.timeout, '2m0s');
    assert.deepEqual(documentOf('JoinConfiguration', wish, '1.31.0').timeouts, { discovery: '2m0s' });
    assert.equal(documentOf('JoinConfiguration', wish, '1.31.0').discovery.timeout, undefined);
  });

  test('ECDSA-P256 is a feature gate', () => {
    const wish: KubernetesOverrides = { cluster: { encryptionAlgorithm: 'ECDSA-P256' } };
    assert.deepEqual(documentOf('ClusterConfiguration', wish, '1.30.0').featureGates, { PublicKeysECDSA: true });
    assert.equal(documentOf('ClusterConfiguration', wish, '1.31.0').encryptionAlgorithm, 'ECDSA-P256');
    assert.equal(documentOf('ClusterConfiguration', wish, '1.31.0').featureGates, undefined);
  });

  test('switched-off addons are skipped phases, and skipped phases are a flag of v1beta2', () => {
    const wish: KubernetesOverrides = {
      kubeadm: { skipPhases: ['addon/coredns', 'upload-certs'] },
      addons: {
        dns: { enabled: false, imageRepository: undefined, imageTag: undefined },
        proxy: { enabled: false, config: {} },
      },
    };
    const names = ['addon/coredns', 'upload-certs', 'addon/kube-proxy'];
    assert.ok(render(wish, '1.21.0').flags.includes(`--skip-phases=${names.join(',')}`));
    assert.equal(documentOf('InitConfiguration', wish, '1.21.0').skipPhases, undefined);
    assert.deepEqual(documentOf('InitConfiguration', wish, '1.22.0').skipPhases, names);
    assert.deepEqual(documentOf('InitConfiguration', wish, '1.31.0').skipPhases, ['addon/coredns', 'upload-certs']);
    assert.deepEqual(documentOf('ClusterConfiguration', wish, '1.31.0').dns, { disabled: true });
    assert.deepEqual(documentOf('ClusterConfiguration', wish, '1.31.0').proxy, { disabled: true });
  });

  test('the patches directory is a flag of v1beta2', () => {
    const wish = { ...WORKER, kubeadm: { patchesDirectory: '/etc/kubernetes/patches' } };
    assert.deepEqual(render(wish, '1.20.2').flags, ['--experimental-patches=/etc/kubernetes/patches']);
    assert.deepEqual(render(wish, '1.22.0').flags, []);
    assert.deepEqual(documentOf('JoinConfiguration', wish, '1.22.0').patches, { directory: '/etc/kubernetes/patches' });
  });

  test('a renamed phase is skipped under the name of the version', () => {
    const init: KubernetesOverrides = { kubeadm: { skipPhases: ['kubelet-finalize/enable-client-cert-rotation'] } };
    assert.deepEqual(documentOf('InitConfiguration', init, '1.30.0').skipPhases, [
      'kubelet-finalize/experimental-cert-rotation',
    ]);
    const join: KubernetesOverrides = {
      role: 'JoinControlPlane',
      join: JOIN,
      kubeadm: { skipPhases: ['control-plane-join/etcd'] },
    };
    assert.deepEqual(documentOf('JoinConfiguration', join, '1.30.0').skipPhases, ['control-plane-join/etcd']);
    assert.deepEqual(documentOf('JoinConfiguration', join, '1.33.0').skipPhases, [
      'control-plane-join/etcd',
      'etcd-join',
    ]);
    assert.deepEqual(documentOf('JoinConfiguration', join, '1.36.0').skipPhases, ['etcd-join']);
  });

  test('a gate is left out where its value is what the version does anyway', () => {
    const wish = (enabled: boolean): KubernetesOverrides => ({
      cluster: { featureGates: { ControlPlaneKubeletLocalMode: enabled } },
    });
    assert.equal(documentOf('ClusterConfiguration', wish(false), '1.30.0').featureGates, undefined);
    assert.deepEqual(documentOf('ClusterConfiguration', wish(true), '1.31.0').featureGates, {
      ControlPlaneKubeletLocalMode: true,
    });
    assert.equal(documentOf('ClusterConfiguration', wish(true), '1.36.0').featureGates, undefined);
  });
});

describe('a setting that a version cannot express is refused, never lost', () => {
  const repeated = [
    { name: 'oidc-issuer', value: 'a' },
    { name: 'oidc-issuer', value: 'b' },
  ];
  for (const [title, wish, kubeadm, expected] of [
    [
      'a repeated argument before v1beta4',
      { controlPlane: { apiServer: { ...PLAIN_API_SERVER, args: repeated } } },
      '1.30.2',
      ['kubernetes.controlPlane.apiServer.args: "oidc-issuer" is repeated; kubeadm v1beta3 keeps arguments in a map'],
    ],
    [
      'environment variables before v1beta4',
      { controlPlane: { etcd: { ...PLAIN_ETCD, env: [{ name: 'A', value: 'b' }] } } },
      '1.30.2',
      ['kubernetes.controlPlane.etcd.local.env: kubeadm v1beta3 cannot set environment variables'],
    ],
    [
      'ECDSA-P384 before 1.34',
      { cluster: { encryptionAlgorithm: 'ECDSA-P384' } },
      '1.33.0',
      ['kubernetes.cluster.encryptionAlgorithm: ECDSA-P384 is not known to this version'],
    ],
    [
      'RSA-4096 before v1beta4',
      { cluster: { encryptionAlgorithm: 'RSA-4096' } },
      '1.30.0',
      [
        'kubernetes.cluster.encryptionAlgorithm: RSA-4096 is not known to kubeadm v1beta3, which makes RSA-2048 or ECDSA-P256 keys',
      ],
    ],
    [
      'a validity of certificates before v1beta4',
      { cluster: { certificateValidityMs: 86_400_000, caCertificateValidityMs: 86_400_000 } },
      '1.30.0',
      [
        'kubernetes.cluster.certificateValidity: kubeadm v1beta3 always makes certificates valid for 365 days',
        'kubernetes.cluster.caCertificateValidity: kubeadm v1beta3 always makes certificates valid for 3650 days',
      ],
    ],
    [
      'parallel pulls before v1beta4, a pull policy before v1beta3',
      { node: { imagePullPolicy: 'Never', imagePullSerial: false } },
      '1.21.0',
      [
        'kubernetes.node.imagePullPolicy: kubeadm v1beta2 always pulls what is not present',
        'kubernetes.node.imagePullSerial: kubeadm v1beta2 always pulls images one after the other',
      ],
    ],
    [
      'timeouts that were fixed before v1beta4',
      { ...WORKER, timeouts: { kubeletMs: 1000, apiMs: 1000, tlsBootstrapMs: 1000 } },
      '1.30.0',
      [
        'kubernetes.timeouts.kubelet: this version of kubeadm has a fixed timeout there',
        'kubernetes.timeouts.api: this version of kubeadm has a fixed timeout there',
        'kubernetes.timeouts.tlsBootstrap: this version of kubeadm has a fixed timeout there',
      ],
    ],
    [
      'an etcd timeout that 1.31 reads and ignores',
      { timeouts: { etcdMs: 1000 } },
      '1.31.4',
      ['kubernetes.timeouts.etcd: this version of kubeadm has a fixed timeout there'],
    ],
    [
      'a kubelet configuration of one joining machine before 1.25',
      { ...WORKER, node: kubelet([], { maxPods: 50, podPidsLimit: 100 }) },
      '1.24.17',
      [
        'kubernetes.node.kubelet.config: kubeadm join before 1.25 cannot configure the kubelet of one machine (maxPods, podPidsLimit)',
      ],
    ],
    [
      'two address families in 1.20 without the gate',
      { cluster: { podSubnets: ['10.0.0.0/16', 'fd00::/64'], serviceSubnets: ['10.96.0.0/12', 'fd01::/108'] } },
      '1.20.2',
      [
        'kubernetes.cluster.podSubnets: two address families need the feature gate IPv6DualStack in kubeadm 1.20',
        'kubernetes.cluster.serviceSubnets: two address families need the feature gate IPv6DualStack in kubeadm 1.20',
      ],
    ],
    [
      'a token that ends at a moment, and one only for signing: no kubeadm takes them from a file',
      {
        cluster: {
          bootstrapTokens: [
            {
              token: inlineSecret(TOKEN),
              description: undefined,
              ttlMs: undefined,
              expires: '2030-01-01T00:00:00Z',
              usages: ['signing'],
              groups: [],
            },
          ],
        },
      },
      '1.35.0',
      [
        'kubernetes.cluster.bootstrapTokens[0].expires: kubeadm takes only a time to live in its configuration',
        'kubernetes.cluster.bootstrapTokens[0].usages: kubeadm gives every token a group and refuses that without the usage authentication',
      ],
    ],
    [
      'a gate before its time',
      { cluster: { featureGates: { ControlPlaneKubeletLocalMode: true } } },
      '1.30.0',
      ['kubernetes.cluster.featureGates.ControlPlaneKubeletLocalMode: the gate came with kubeadm 1.31'],
    ],
    [
      'a gate that cannot be switched off any more',
      { cluster: { featureGates: { NodeLocalCRISocket: false } } },
      '1.37.0',
      [
        'kubernetes.cluster.featureGates.NodeLocalCRISocket: the gate was removed after kubeadm 1.36, its feature can no longer be switched off',
      ],
    ],
    [
      'a gate that contradicts the key algorithm',
      { cluster: { encryptionAlgorithm: 'ECDSA-P256', featureGates: { PublicKeysECDSA: false } } },
      '1.30.0',
      [
        'kubernetes.cluster.featureGates.PublicKeysECDSA: false contradicts encryptionAlgorithm ECDSA-P256, which is this gate in kubeadm v1beta3',
      ],
    ],
    [
      'a label given twice with two values',
      { node: { labels: { rack: 'a' }, ...kubelet([{ name: 'node-labels', value: 'rack=b' }]) } },
      '1.35.0',
      ['kubernetes.node.labels: "rack" has another value in the kubelet argument node-labels'],
    ],
    [
      'a provider id given twice with two values',
      { node: { providerID: 'aws:///a', ...kubelet([{ name: 'provider-id', value: 'aws:///b' }]) } },
      '1.35.0',
      ['kubernetes.node.providerID: the kubelet argument provider-id has another value'],
    ],
  ] as const satisfies readonly (readonly [string, KubernetesOverrides, string, readonly string[]])[]) {
    test(title, () => assert.deepEqual(refusals(wish, kubeadm), expected));
  }

  test('names the version that has what is missing', () => {
    const remedyOf = (wish: KubernetesOverrides, kubeadm: string): string => {
      try {
        render(wish, kubeadm);
      } catch (error) {
        if (error instanceof MachineadmError) return error.remedy;
      }
      return '';
    };
    const timeouts = 'kubernetes.timeouts';
    assert.equal(
      remedyOf({ timeouts: { etcdMs: 1000 } }, '1.31.4'),
      `Use kubeadm 1.32 or newer, or remove ${timeouts}.etcd.`,
    );
    assert.equal(
      remedyOf({ ...WORKER, timeouts: { kubeletMs: 1000, apiMs: 1000 } }, '1.30.0'),
      `Use kubeadm 1.31 or newer, or remove ${timeouts}.kubelet. Use kubeadm 1.31 or newer, or remove ${timeouts}.api.`,
    );
    assert.equal(
      remedyOf({ node: { imagePullPolicy: 'Never', imagePullSerial: false } }, '1.21.0'),
      'Use kubeadm 1.22 or newer, or remove kubernetes.node.imagePullPolicy. Use kubeadm 1.31 or newer, or remove kubernetes.node.imagePullSerial.',
    );
    assert.equal(
      remedyOf({ cluster: { encryptionAlgorithm: 'RSA-4096' } }, '1.30.0'),
      'Use kubeadm 1.31 or newer, or choose another algorithm.',
    );
    assert.equal(
      remedyOf({ cluster: { featureGates: { NodeLocalCRISocket: false } } }, '1.37.0'),
      'Remove the gate NodeLocalCRISocket from the document.',
    );
  });

  test('a phase that the version does not have, with the names it has', () => {
    const wish: KubernetesOverrides = { kubeadm: { skipPhases: ['show-join-command', 'addon/flannel'] } };
    assert.deepEqual(refusals(wish, '1.25.0'), [
      'kubernetes.bootstrapper.kubeadm.skipPhases: kubeadm init has no phase "show-join-command" in this version',
      'kubernetes.bootstrapper.kubeadm.skipPhases: kubeadm init has no phase "addon/flannel" in this version',
    ]);
    assert.throws(
      () => render(wish, '1.25.0'),
      (error) => error instanceof MachineadmError && error.remedy.includes('addon/coredns, addon/kube-proxy'),
    );
  });

  test('the message names the kubeadm, the version, every field and what helps', () => {
    assert.throws(
      () => render({ node: { imagePullPolicy: 'Never', imagePullSerial: false } }, '1.20.2'),
      (error) =>
        error instanceof MachineadmError &&
        error.message ===
          'kubeadm v1.20.2 (v1beta2) cannot express 2 fields of the document: ' +
            'kubernetes.node.imagePullPolicy: kubeadm v1beta2 always pulls what is not present; ' +
            'kubernetes.node.imagePullSerial: kubeadm v1beta2 always pulls images one after the other.' &&
        error.remedy ===
          'Use kubeadm 1.22 or newer, or remove kubernetes.node.imagePullPolicy. ' +
            'Use kubeadm 1.31 or newer, or remove kubernetes.node.imagePullSerial.',
    );
  });

  test('asking an old version for what it does anyway is no problem', () => {
    const wish: KubernetesOverrides = {
      node: { imagePullPolicy: 'IfNotPresent', imagePullSerial: true },
      cluster: { encryptionAlgorithm: 'RSA-2048', certificateValidityMs: 365 * 86_400_000 },
    };
    assert.deepEqual(refusals(wish, '1.20.2'), []);
  });

  test('a phase unknown to us is left to a kubeadm newer than we know', () => {
    const wish: KubernetesOverrides = { kubeadm: { skipPhases: ['brand-new'] } };
    assert.deepEqual(documentOf('InitConfiguration', wish, '1.38.0').skipPhases, ['brand-new']);
    assert.equal(refusals(wish, '1.37.0').length, 1);
  });

  test('a joining machine that is not told what to join', () => {
    assert.throws(
      () => render({ role: 'Worker' }, '1.35.0'),
      (error) => error instanceof MachineadmError && error.reason === 'DocumentInvalid',
    );
  });
});

describe('the node', () => {
  const registration = (wish: KubernetesOverrides['node'], kubeadm = '1.35.0', options: Options = {}) =>
    documentOf('InitConfiguration', { ...(wish === undefined ? {} : { node: wish }) }, kubeadm, options)
      .nodeRegistration;

  test('taints: absent, [] and a list mean three things', () => {
    assert.equal('taints' in registration({ taints: undefined }), false);
    assert.deepEqual(registration({ taints: [] }).taints, []);
    assert.deepEqual(registration({ taints: [{ key: 'a', value: undefined, effect: 'NoExecute' }] }).taints, [
      { key: 'a', effect: 'NoExecute' },
    ]);
  });

  test('labels and the provider id become arguments of the kubelet, merged with those given', () => {
    const node = {
      labels: { 'b/rack': '1', a: '' },
      providerID: 'aws:///eu/i-1',
      ...kubelet([
        { name: 'v', value: '2' },
        { name: 'node-labels', value: 'zone=x,b/rack=1' },
        { name: 'node-ip', value: '10.0.0.4' },
        { name: 'node-labels', value: 'color=red' },
      ]),
    };
    assert.deepEqual(registration(node).kubeletExtraArgs, [
      { name: 'v', value: '2' },
      { name: 'node-labels', value: 'a=,b/rack=1,color=red,zone=x' },
      { name: 'node-ip', value: '10.0.0.4' },
      { name: 'provider-id', value: 'aws:///eu/i-1' },
    ]);
    assert.deepEqual(registration(node, '1.20.2').kubeletExtraArgs, {
      'node-ip': '10.0.0.4',
      'node-labels': 'a=,b/rack=1,color=red,zone=x',
      'provider-id': 'aws:///eu/i-1',
      v: '2',
    });
  });

  test("the document's name wins over the one the caller found", () => {
    assert.equal(registration({}, '1.35.0', { nodeName: 'found' }).name, 'found');
    assert.equal(registration({ name: 'written' }, '1.35.0', { nodeName: 'found' }).name, 'written');
    assert.equal('name' in registration({}), false);
  });
});

describe("the kubelet's configuration", () => {
  test("init takes it in the same file, with containerd's cgroup driver", () => {
    const wish = { node: kubelet([], { maxPods: 50 }) };
    assert.deepEqual(documentOf('KubeletConfiguration', wish, '1.20.2', { cgroupDriver: 'systemd' }), {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      cgroupDriver: 'systemd',
      maxPods: 50,
    });
  });

  test("the document's own cgroup driver wins", () => {
    const wish = { node: kubelet([], { cgroupDriver: 'cgroupfs' }) };
    assert.equal(
      documentOf('KubeletConfiguration', wish, '1.35.0', { cgroupDriver: 'systemd' }).cgroupDriver,
      'cgroupfs',
    );
  });

  test('is absent without settings in the document', () => {
    assert.equal(documentOf('KubeletConfiguration', {}, '1.35.0'), undefined);
  });

  test('join reads it as a patch from 1.25 on', () => {
    const rendered = render({ ...WORKER, node: kubelet([], { maxPods: 50 }) }, '1.25.0', { cgroupDriver: 'systemd' });
    assert.equal(rendered.documents.length, 1);
    assert.deepEqual(rendered.files, [
      {
        path: '/run/kubeadm/patches/kubeletconfiguration0machineadm+merge.yaml',
        content: 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\n',
        mode: 0o640,
      },
    ]);
    assert.match(rendered.text, /^patches:\n {2}directory: \/run\/kubeadm\/patches$/m);
  });

  test('the patch joins those that the document names a directory for', () => {
    const wish = {
      ...WORKER,
      node: kubelet([], { maxPods: 50 }),
      kubeadm: { patchesDirectory: '/etc/kubernetes/patches' },
    };
    assert.deepEqual(
      render(wish, '1.35.0').files.map(({ path }) => path),
      ['/etc/kubernetes/patches/kubeletconfiguration0machineadm+merge.yaml'],
    );
    assert.deepEqual(documentOf('JoinConfiguration', wish, '1.35.0').patches, { directory: '/etc/kubernetes/patches' });
  });
});

describe('arguments and files next to the configuration', () => {
  test('verbosity is capped where kubeadm would print Secrets', () => {
    assert.deepEqual(render({ ...WORKER, kubeadm: { verbosity: 9 } }, '1.35.0').flags, ['--v=5']);
    assert.deepEqual(render({ ...WORKER, kubeadm: { verbosity: 0 } }, '1.35.0').flags, ['--v=0']);
  });

  test('init never prints its token or certificate key, and uploads certificates only with a key of ours', () => {
    const quiet = ['--skip-token-print', '--skip-certificate-key-print'];
    assert.deepEqual(render({}, '1.20.2').flags, quiet);
    const key = inlineSecret('f'.repeat(64));
    assert.deepEqual(render({ controlPlane: { certificateKey: key } }, '1.35.0').flags, [...quiet, '--upload-certs']);
  });

  test('secrets are in the file and nowhere else, and only as the caller lets them', () => {
    const wish: KubernetesOverrides = {
      role: 'JoinControlPlane',
      join: { ...JOIN, tlsBootstrapToken: inlineSecret('fedcba.fedcba9876543210', 'tls') },
      controlPlane: { certificateKey: inlineSecret('f'.repeat(64), 'key') },
      kubeadm: { verbosity: 5 },
    };
    const open = render(wish, '1.35.0');
    for (const value of [TOKEN, 'fedcba.fedcba9876543210', 'f'.repeat(64)]) {
      assert.ok(open.text.includes(value));
      assert.ok(!open.flags.join(' ').includes(value));
    }
    const shown = render(wish, '1.35.0', { secrets: () => '[redacted]' });
    assert.equal(shown.text.split('[redacted]').length - 1, 3);
    assert.ok(!shown.text.includes(TOKEN));
  });
});

describe('the text', () => {
  test('is the same whatever the order in which maps were written', () => {
    const wish = (gates: Record<string, boolean>): KubernetesOverrides => ({ cluster: { featureGates: gates } });
    assert.equal(
      render(wish({ A: true, B: false }), '1.35.0').text,
      render(wish({ B: false, A: true }), '1.35.0').text,
    );
  });

  test('keeps strings that YAML 1.1, which kubeadm reads, would take for something else', () => {
    const traps = [
      'on',
      'Yes',
      'n',
      '012',
      '1:30',
      '1e3',
      '0x1f',
      '~',
      '.inf',
      '2026-11-20',
      '1_000',
      'null',
      '',
      ' a',
      'a: b',
      '=',
      '<<',
      '- a',
      '#c',
      'ü\u0085\n',
    ];
    const args = traps.map((value, index) => ({ name: `n${index}`, value }));
    const text = render({ node: kubelet(args) }, '1.35.0').text;
    for (const version of ['1.1', '1.2'] as const) {
      const documents = parseAllDocuments(text, { version }).map((document) => document.toJS());
      assert.deepEqual(documents[1].nodeRegistration.kubeletExtraArgs, args, `YAML ${version}`);
    }
    for (const trap of traps.slice(0, 12)) assert.ok(text.includes(`value: ${JSON.stringify(trap)}\n`), trap);
  });

  test('is formatted for readers', () => {
    assert.equal(
      render({ ...WORKER, node: { name: 'worker-1' } }, '1.35.0').text,
      [
        '---',
        'apiVersion: kubeadm.k8s.io/v1beta4',
        'kind: JoinConfiguration',
        'nodeRegistration:',
        '  name: worker-1',
        '  criSocket: unix:///run/containerd/containerd.sock',
        'discovery:',
        '  bootstrapToken:',
        '    token: abcdef.0123456789abcdef',
        '    apiServerEndpoint: "10.0.0.1:6443"',
        '    caCertHashes:',
        `      - sha256:${'0'.repeat(64)}`,
        '',
      ].join('\n'),
    );
  });
});

describe('patches of the document', () => {
  const patches = [
    { target: 'kube-apiserver', type: 'strategic', patch: { metadata: { labels: { a: 'on' } } } },
    { target: 'etcd', type: 'json', patch: [{ op: 'add', path: '/metadata/labels/a', value: 'b' }] },
  ] as const;

  test('become files of ours, named so that kubeadm applies them in their order', () => {
    const { files, documents } = render({ kubeadm: { patches } }, '1.31.0');
    assert.deepEqual(
      files.map(({ path }) => path),
      ['/run/kubeadm/patches/kube-apiserver001+strategic.yaml', '/run/kubeadm/patches/etcd002+json.yaml'],
    );
    assert.equal(files[0]?.content, 'metadata:\n  labels:\n    a: "on"\n');
    assert.equal(files[1]?.content, '- op: add\n  path: /metadata/labels/a\n  value: b\n');
    const found = documents.find((document) => 'patches' in document);
    assert.deepEqual(found && 'patches' in found ? found.patches : undefined, { directory: '/run/kubeadm/patches' });
  });

  test('are named by a flag where the configuration has no field for them', () => {
    assert.ok(render({ kubeadm: { patches } }, '1.20.2').flags.includes('--experimental-patches=/run/kubeadm/patches'));
  });

  test('must have a target that this kubeadm knows', () => {
    const coredns = [{ target: 'corednsdeployment', type: 'merge', patch: {} }] as const;
    assert.throws(() => render({ kubeadm: { patches: coredns } }, '1.30.0'), {
      reason: 'NotExpressible',
      evidence: [
        {
          source: 'kubernetes.bootstrapper.kubeadm.patches[0].target',
          text: 'kubeadm has had the patch target corednsdeployment since 1.31',
        },
      ],
    });
    assert.equal(render({ kubeadm: { patches: coredns } }, '1.31.0').files.length, 1);
  });
});

describe('discovery by file', () => {
  const exec = {
    kind: 'exec',
    command: 'authenticator',
    args: [],
    env: [],
    apiVersion: 'client.authentication.k8s.io/v1',
    provideClusterInfo: true,
  } as const;
  const byFile = (user: DiscoveryUser): KubernetesOverrides => ({
    role: 'Worker',
    join: {
      ...JOIN,
      discovery: {
        path: '/run/kubeadm/discovery.conf',
        endpoint: 'api.example:6443',
        kubeconfig: {
          server: 'https://api.example:6443',
          tlsServerName: 'api.internal',
          insecureSkipTLSVerify: false,
          certificateAuthority: undefined,
          proxyURL: 'http://proxy.example:3128',
          user,
        },
      },
    },
  });

  test('writes the kubeconfig for root alone, with everything that leads to the cluster', () => {
    const [file] = render(byFile({ kind: 'token', token: inlineSecret(TOKEN) }), '1.31.0').files;
    assert.equal(file?.mode, 0o600);
    const { clusters, users } = parse(file?.content ?? '');
    assert.deepEqual(clusters[0].cluster, {
      server: 'https://api.example:6443',
      'tls-server-name': 'api.internal',
      'proxy-url': 'http://proxy.example:3128',
    });
    assert.deepEqual(users, [{ name: 'default', user: { token: TOKEN } }]);
  });

  test('never waits at a terminal, and is not known before 1.22', () => {
    const content = (kubeadm: string, apiVersion: string) =>
      parse(render(byFile({ ...exec, apiVersion }), kubeadm).files[0]?.content ?? '').users[0].user.exec;
    assert.equal(content('1.22.0', 'client.authentication.k8s.io/v1').interactiveMode, 'Never');
    assert.ok(!('interactiveMode' in content('1.20.2', 'client.authentication.k8s.io/v1beta1')));
    assert.throws(() => render(byFile(exec), '1.21.0'), {
      reason: 'NotExpressible',
      evidence: [
        {
          source: 'kubernetes.join.discovery.file.kubeconfig.user.exec.apiVersion',
          text: 'kubeadm before 1.22 knows client.authentication.k8s.io/v1beta1 only',
        },
      ],
    });
  });
});

describe('kube-proxy', () => {
  test('is configured by a document of its own, where it is wanted', () => {
    const kinds = (enabled: boolean) =>
      parseAllDocuments(
        render(
          {
            addons: {
              dns: { enabled: true, imageRepository: undefined, imageTag: undefined },
              proxy: { enabled, config: { mode: 'ipvs' } },
            },
          },
          '1.31.0',
        ).text,
      ).map((document) => document.get('kind'));
    assert.ok(kinds(true).includes('KubeProxyConfiguration'));
    assert.ok(!kinds(false).includes('KubeProxyConfiguration'));
  });
});

test('static pods in the way of an older join are expected there', () => {
  const staticPods = [{ name: 'kube-vip', manifest: 'kind: Pod', adminKubeconfig: 'Auto' }] as const;
  const ignored = (role: 'InitControlPlane' | 'JoinControlPlane') =>
    render({ role, ...(role === 'InitControlPlane' ? {} : { join: JOIN }), controlPlane: { staticPods } }, '1.20.2')
      .text;
  assert.match(ignored('JoinControlPlane'), /ignorePreflightErrors:\n +- DirAvailable--etc-kubernetes-manifests/);
  assert.doesNotMatch(ignored('InitControlPlane'), /DirAvailable/);
});
