import type { JoinModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { inlineSecret, kubernetesModel, PLAIN_API_SERVER } from './kubernetes-model.ts';
import fc from './property.ts';

/** A DNS label. */
const word = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const durationMs = fc.oneof(fc.integer({ min: 1, max: 7_200_000 }), fc.constantFrom(1000, 60_000, 3_600_000));
/** Values that tempt a YAML parser. */
const value = fc.oneof(
  word,
  fc.string({ maxLength: 12 }),
  fc.constantFrom('on', '012', 'null', '1:30', '', '~', 'a: b'),
);
const args = fc.array(fc.record({ name: fc.oneof(word, fc.constantFrom('v', 'node-ip')), value }), { maxLength: 4 });
const env = fc.array(fc.record({ name: word, value }), { maxLength: 2 });
const volumes = fc.array(
  fc.record({
    name: word,
    hostPath: word.map((name) => `/srv/${name}`),
    mountPath: word.map((name) => `/mnt/${name}`),
    readOnly: fc.boolean(),
    pathType: optional(fc.constantFrom('File', 'DirectoryOrCreate')),
  }),
  { maxLength: 2 },
);
const component = fc.record({ args, env, volumes });
const token = fc.stringMatching(/^[a-z0-9]{6}\.[a-z0-9]{16}$/).map((text) => inlineSecret(text, 'token'));
const certificateKey = fc.stringMatching(/^[0-9a-f]{64}$/).map((text) => inlineSecret(text, 'certificateKey'));
const names = fc.array(word, { maxLength: 2 });

const bootstrapToken = fc.record({
  token,
  description: optional(value),
  ttlMs: optional(fc.constant(900_000)),
  expires: fc.constant(undefined),
  usages: fc.constantFrom([], ['authentication'], ['signing', 'authentication']),
  groups: fc.constantFrom([], ['system:bootstrappers:kubeadm:default-node-token']),
});

const etcd = fc.oneof(
  fc.record({
    kind: fc.constant('local' as const),
    dataDirectory: optional(fc.constant('/var/lib/etcd-disk/etcd')),
    imageRepository: optional(fc.constant('registry.example/etcd')),
    imageTag: optional(fc.constant('3.5.1-0')),
    args,
    env,
    serverCertSANs: names,
    peerCertSANs: names,
  }),
  fc.record({
    kind: fc.constant('external' as const),
    endpoints: fc.constant(['https://10.0.0.20:2379']),
    httpEndpoints: fc.constantFrom([], ['https://10.0.0.20:2378']),
    caFile: fc.constant('/etc/etcd/ca.crt'),
    certFile: fc.constant('/etc/etcd/client.crt'),
    keyFile: fc.constant('/etc/etcd/client.key'),
  }),
);

const tokenDiscovery = fc.record({ token, pinned: fc.boolean() }).map(({ token: discoveryToken, pinned }) => ({
  token: discoveryToken,
  endpoint: 'api.example:6443',
  caCertHashes: pinned ? [`sha256:${'a'.repeat(64)}`] : [],
  unsafeSkipCAVerification: !pinned,
}));

const discoveryUser = fc.oneof(
  fc.constant({ kind: 'none' as const }),
  token.map((text) => ({ kind: 'token' as const, token: text })),
  fc.record({
    kind: fc.constant('exec' as const),
    command: fc.constant('/usr/local/bin/authenticator'),
    args: fc.array(value, { maxLength: 2 }),
    env,
    apiVersion: fc.constantFrom('client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'),
    provideClusterInfo: fc.boolean(),
  }),
);

const fileDiscovery = fc.record({
  path: fc.constantFrom('/run/kubeadm/discovery.conf', '/etc/kubernetes/discovery.conf'),
  endpoint: fc.constant('api.example:6443'),
  kubeconfig: optional(
    fc.record({
      server: fc.constant('https://api.example:6443'),
      tlsServerName: optional(fc.constant('api.internal')),
      insecureSkipTLSVerify: fc.boolean(),
      certificateAuthority: optional(fc.constant('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n')),
      proxyURL: optional(fc.constant('http://proxy.example:3128')),
      user: discoveryUser,
    }),
  ),
});

const join = fc.record({
  discovery: fc.oneof({ weight: 3, arbitrary: tokenDiscovery }, { weight: 1, arbitrary: fileDiscovery }),
  tlsBootstrapToken: optional(token),
  caCertPath: fc.constantFrom('/etc/kubernetes/pki/ca.crt', '/srv/pki/ca.crt'),
});

/** A list of them or a directory, never both. */
const patches = fc.oneof(
  fc.record({ patchesDirectory: optional(fc.constant('/etc/kubernetes/patches')), patches: fc.constant([]) }),
  fc.record({
    patchesDirectory: fc.constant(undefined),
    patches: fc.array(
      fc.oneof(
        fc.record({
          target: fc.constantFrom(
            'etcd',
            'kube-apiserver',
            'kubeletconfiguration',
            'corednsdeployment',
            'kubeproxydaemonset',
          ),
          type: fc.constantFrom('strategic', 'merge'),
          patch: fc.constant({ metadata: { labels: { 'e2e.example/patched': 'on' } } }),
        }),
        fc.record({
          target: fc.constantFrom('kube-scheduler', 'kube-controller-manager'),
          type: fc.constant('json' as const),
          patch: fc.constant([{ op: 'add', path: '/metadata/labels/a', value: '012' }]),
        }),
      ),
      { maxLength: 2 },
    ),
  }),
);

/** Half of the time nothing unusual is asked for, so that old versions are met with models that they can express. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 });

/** Any model that document validation lets through. */
export const anyKubernetesModel: fc.Arbitrary<KubernetesModel> = fc
  .record({
    role: fc.constantFrom('InitControlPlane', 'JoinControlPlane', 'Worker'),
    kubeadm: fc
      .record({
        verbosity: optional(fc.nat({ max: 10 })),
        skipPhases: fc.subarray(['preflight', 'addon/coredns', 'control-plane-join/etcd', 'show-join-command'], {
          maxLength: 1,
        }),
        ignorePreflightErrors: fc.subarray(['NumCPU', 'all']),
        patching: patches,
      })
      .map(({ patching, ...rest }) => ({ ...rest, ...patching })),
    cluster: fc.record({
      name: optional(word),
      controlPlaneEndpoint: optional(fc.constant('api.example:6443')),
      podSubnets: fc.constantFrom([], ['10.244.0.0/16'], ['10.244.0.0/16', 'fd00::/64']),
      serviceSubnets: fc.constantFrom([], ['10.96.0.0/12']),
      dnsDomain: optional(fc.constant('cluster.local')),
      imageRepository: optional(fc.constant('registry.example/k8s')),
      featureGates: fc.dictionary(
        fc.constantFrom('ControlPlaneKubeletLocalMode', 'IPv6DualStack', 'RootlessControlPlane'),
        fc.boolean(),
      ),
      certificatesDirectory: fc.constantFrom('/etc/kubernetes/pki', '/srv/pki'),
      certificateValidityMs: rarely(durationMs),
      caCertificateValidityMs: rarely(durationMs),
      encryptionAlgorithm: rarely(fc.constantFrom('RSA-2048', 'RSA-3072', 'RSA-4096', 'ECDSA-P256', 'ECDSA-P384')),
      bootstrapTokens: fc.array(bootstrapToken, { maxLength: 2 }),
    }),
    controlPlane: fc.record({
      apiEndpoint: fc.record({
        advertiseAddress: optional(fc.constantFrom('10.0.0.1', 'fd00::1')),
        bindPort: optional(fc.integer({ min: 1, max: 65535 })),
      }),
      apiServer: fc
        .record({ component, certSANs: names })
        .map(({ component: fields, certSANs }) => ({ ...PLAIN_API_SERVER, ...fields, certSANs })),
      controllerManager: component,
      scheduler: component,
      etcd,
      certificateKey: optional(certificateKey),
      staticPods: fc.constantFrom([], [{ name: 'kube-vip', manifest: 'kind: Pod', adminKubeconfig: 'Auto' as const }]),
    }),
    node: fc.record({
      name: optional(word),
      providerID: optional(fc.constant('aws:///eu-1/i-1')),
      labels: fc.dictionary(word, word, { maxKeys: 3 }),
      taints: optional(
        fc.array(
          fc.record({
            key: word,
            value: optional(word),
            effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
          }),
          { maxLength: 2 },
        ),
      ),
      criSocket: fc.constantFrom(
        'unix:///run/containerd/containerd.sock',
        'unix:///var/run/containerd/containerd.sock',
      ),
      imagePullPolicy: optional(fc.constantFrom('Always', 'IfNotPresent', 'Never')),
      imagePullSerial: optional(fc.boolean()),
      kubelet: fc.record({ config: fc.constantFrom({}, { maxPods: 50, clusterDNS: ['10.96.0.10'] }), args }),
    }),
    join,
    addons: fc.record({
      dns: fc.record({
        enabled: fc.boolean(),
        imageRepository: optional(fc.constant('registry.example/dns')),
        imageTag: optional(fc.constant('v1.11.1')),
      }),
      proxy: fc.record({ enabled: fc.boolean(), config: fc.constantFrom({}, { mode: 'ipvs' }) }),
    }),
    timeouts: fc.record({
      controlPlaneMs: optional(durationMs),
      kubeletMs: rarely(durationMs),
      apiMs: rarely(durationMs),
      etcdMs: rarely(durationMs),
      tlsBootstrapMs: rarely(durationMs),
      discoveryMs: optional(durationMs),
      overallMs: fc.constant(1_800_000),
    }),
  })
  .map((overrides) => kubernetesModel(overrides));

/** The same model without anything that kubeadm 1.20 cannot say. */
export function inWordsOfTheOldest(model: KubernetesModel): KubernetesModel {
  const once = <T extends { readonly name: string }>(list: readonly T[]): readonly T[] => [
    ...new Map(list.map((item) => [item.name, item])).values(),
  ];
  const plain = <T extends KubernetesModel['controlPlane']['scheduler']>(from: T): T => ({
    ...from,
    args: once(from.args),
    env: [],
  });
  const { etcd: store } = model.controlPlane;
  return {
    ...model,
    kubeadm: {
      ...model.kubeadm,
      skipPhases: model.kubeadm.skipPhases.filter((name) => name === 'preflight'),
      patches: model.kubeadm.patches.filter(({ target }) => target.startsWith('kube-') || target === 'etcd'),
    },
    join: model.join === undefined ? undefined : { ...model.join, discovery: oldDiscovery(model.join.discovery) },
    cluster: {
      ...model.cluster,
      podSubnets: model.cluster.podSubnets.slice(0, 1),
      featureGates: {},
      certificateValidityMs: undefined,
      caCertificateValidityMs: undefined,
      encryptionAlgorithm: model.cluster.encryptionAlgorithm === 'ECDSA-P256' ? 'ECDSA-P256' : undefined,
    },
    controlPlane: {
      ...model.controlPlane,
      apiServer: plain(model.controlPlane.apiServer),
      controllerManager: plain(model.controlPlane.controllerManager),
      scheduler: plain(model.controlPlane.scheduler),
      etcd: store.kind === 'local' ? { ...store, args: once(store.args), env: [] } : { ...store, httpEndpoints: [] },
    },
    node: {
      ...model.node,
      imagePullPolicy: undefined,
      imagePullSerial: undefined,
      kubelet: {
        config: model.role === 'InitControlPlane' ? model.node.kubelet.config : {},
        args: once(model.node.kubelet.args),
      },
    },
    timeouts: {
      ...model.timeouts,
      kubeletMs: undefined,
      apiMs: undefined,
      etcdMs: undefined,
      tlsBootstrapMs: undefined,
    },
  };
}

/** Credential plugins of the version that client-go 0.20 knows. */
function oldDiscovery(discovery: JoinModel['discovery']): JoinModel['discovery'] {
  if (!('path' in discovery) || discovery.kubeconfig?.user.kind !== 'exec') return discovery;
  const { kubeconfig } = discovery;
  const user = { ...kubeconfig.user, apiVersion: 'client.authentication.k8s.io/v1beta1' };
  return { ...discovery, kubeconfig: { ...kubeconfig, user } };
}
