import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { ControlPlaneModel, JoinModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { parse } from 'yaml';
import { byKind, setAt, valueAt } from '../../../support/kubeadm-documents.ts';
import {
  inlineSecret,
  type KubernetesOverrides,
  kubeadmOf,
  kubernetesModel,
  PLAIN_API_SERVER,
  PLAIN_COMPONENT,
  PLAIN_ETCD,
  revealInline,
} from '../../../support/kubernetes-model.ts';

/** A place where we differ from Cluster API's provider on purpose or for now; it must really differ. */
interface Difference {
  readonly kind: string;
  readonly path: readonly string[];
  /** What we say there; undefined = nothing. */
  readonly ours: unknown;
  readonly because: string;
}

interface Example {
  readonly fixture: string;
  readonly kubeadm: string;
  readonly model: KubernetesModel;
  readonly flags: readonly string[];
  readonly differences: readonly Difference[];
  /** Files beside the configuration; none by default. */
  readonly files?: readonly { readonly path: string; readonly mode: number; readonly content: object }[];
}

const SOCKET_IS_EXPLICIT: Difference = {
  kind: 'JoinConfiguration',
  path: ['nodeRegistration', 'criSocket'],
  ours: 'unix:///run/containerd/containerd.sock',
  because: 'our model always names the socket, so that kubeadm never has to guess among several runtimes',
};

function discoveryOf(cluster: string): JoinModel {
  return {
    discovery: {
      token: inlineSecret('9vr73a.a8uxyaju799qwdjv', 'joinToken'),
      endpoint: `api.${cluster}.example:6443`,
      caCertHashes: ['sha256:23ce9ae050f3cb3c2461229ba7f390a26ffdd2114fe54d2beb16c3cd060b4d90'],
      unsafeSkipCAVerification: false,
    },
    tlsBootstrapToken: undefined,
    caCertPath: '/etc/kubernetes/pki/ca.crt',
  };
}

/** What the provider's `ResolveDiscoveryKubeConfig` would write for example 02, its CA aside. */
function discoveryKubeconfig(path: string) {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/usr/local/bin/aws-iam-authenticator',
    args: ['token', '-i', 'prod-b'],
    env: [{ name: 'AWS_STS_REGIONAL_ENDPOINTS', value: 'regional' }],
    interactiveMode: 'Never',
    provideClusterInfo: false,
  };
  const authority = Buffer.from('the CA of prod-b').toString('base64');
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'default',
        cluster: { server: 'https://api.prod-b.example:6443', 'certificate-authority-data': authority },
      },
    ],
    contexts: [{ name: 'default', context: { cluster: 'default', user: 'default' } }],
    'current-context': 'default',
    users: [{ name: 'default', user: { exec } }],
  };
  return { path, mode: 0o600, content };
}

const UNINITIALIZED = {
  key: 'node.cluster.x-k8s.io/uninitialized',
  value: undefined,
  effect: 'NoSchedule',
} as const;

const NETWORK = {
  podSubnets: ['192.168.0.0/16'],
  serviceSubnets: ['10.96.0.0/12'],
  dnsDomain: 'cluster.local',
} as const;

const kubeVipNode: KubernetesOverrides = {
  version: 'v1.35.2',
  node: {
    name: '{{ local_hostname }}',
    criSocket: 'unix:///var/run/containerd/containerd.sock',
    imagePullPolicy: 'IfNotPresent',
    imagePullSerial: false,
    labels: { 'topology.corp.example/rack': '{{ ds.meta_data.rack }}' },
    kubelet: {
      config: {},
      args: [
        { name: 'cloud-provider', value: 'external' },
        {
          name: 'tls-cipher-suites',
          value: 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
        },
      ],
    },
  },
};
const kubeVipKubeadm = {
  verbosity: 5,
  patchesDirectory: '/etc/kubernetes/patches',
  ignorePreflightErrors: [],
} as const;

const etcdDiskControlPlane = (issuer: string, clusterNameArgument: string): Partial<ControlPlaneModel> => ({
  apiServer: { ...PLAIN_API_SERVER, args: [{ name: 'service-account-issuer', value: issuer }] },
  controllerManager: {
    ...PLAIN_COMPONENT,
    args: [
      { name: 'allocate-node-cidrs', value: 'false' },
      { name: 'cloud-provider', value: 'external' },
      { name: 'cluster-name', value: clusterNameArgument },
    ],
  },
  etcd: {
    ...PLAIN_ETCD,
    dataDirectory: '/var/lib/etcddisk/etcd',
    args: [{ name: 'quota-backend-bytes', value: '8589934592' }],
  },
});
const etcdDiskNode = {
  name: '{{ ds.meta_data["local_hostname"] }}',
  kubelet: { config: {}, args: [{ name: 'cloud-provider', value: 'external' }] },
};

const EXAMPLES: readonly Example[] = [
  {
    fixture: '01-controlplane-kube-vip.init',
    kubeadm: '1.35.2',
    flags: ['--v=5', '--skip-token-print', '--skip-certificate-key-print'],
    differences: [],
    model: kubernetesModel({
      ...kubeVipNode,
      role: 'InitControlPlane',
      kubeadm: { ...kubeVipKubeadm, skipPhases: ['addon/kube-proxy'] },
      timeouts: { controlPlaneMs: 600_000 },
      addons: { dns: { enabled: true, imageRepository: 'registry.corp.example/k8s/coredns', imageTag: undefined } },
      cluster: {
        ...NETWORK,
        name: 'prod-a',
        controlPlaneEndpoint: 'api.prod-a.example:6443',
        imageRepository: 'registry.corp.example/k8s',
        featureGates: { ControlPlaneKubeletLocalMode: true },
        certificateValidityMs: 180 * 86_400_000,
        caCertificateValidityMs: 3650 * 86_400_000,
        encryptionAlgorithm: 'ECDSA-P384',
      },
      controlPlane: {
        apiServer: {
          ...PLAIN_API_SERVER,
          certSANs: ['api.prod-a.corp.example', '10.20.0.10'],
          args: [
            { name: 'cloud-provider', value: 'external' },
            { name: 'audit-policy-file', value: '/etc/kubernetes/audit/policy.yaml' },
            { name: 'audit-log-path', value: '/var/log/kubernetes/audit.log' },
            { name: 'audit-log-maxage', value: '30' },
            { name: 'encryption-provider-config', value: '/etc/kubernetes/enc/config.yaml' },
            { name: 'profiling', value: 'false' },
          ],
          env: [{ name: 'GODEBUG', value: 'x509ignoreCN=0' }],
          volumes: [
            {
              name: 'audit-policy',
              hostPath: '/etc/kubernetes/audit',
              mountPath: '/etc/kubernetes/audit',
              readOnly: true,
              pathType: 'DirectoryOrCreate',
            },
            {
              name: 'audit-log',
              hostPath: '/var/log/kubernetes',
              mountPath: '/var/log/kubernetes',
              readOnly: false,
              pathType: 'DirectoryOrCreate',
            },
            {
              name: 'enc',
              hostPath: '/etc/kubernetes/enc',
              mountPath: '/etc/kubernetes/enc',
              readOnly: true,
              pathType: undefined,
            },
          ],
        },
        controllerManager: {
          ...PLAIN_COMPONENT,
          args: [
            { name: 'cloud-provider', value: 'external' },
            { name: 'bind-address', value: '0.0.0.0' },
          ],
        },
        scheduler: { ...PLAIN_COMPONENT, args: [{ name: 'bind-address', value: '0.0.0.0' }] },
        etcd: {
          ...PLAIN_ETCD,
          args: [
            { name: 'quota-backend-bytes', value: '8589934592' },
            { name: 'auto-compaction-retention', value: '8' },
          ],
          serverCertSANs: ['etcd.prod-a.corp.example'],
        },
      },
    }),
  },
  {
    fixture: '01-controlplane-kube-vip.join-controlplane',
    kubeadm: '1.35.2',
    flags: ['--v=5'],
    differences: [],
    model: kubernetesModel({
      ...kubeVipNode,
      role: 'JoinControlPlane',
      kubeadm: kubeVipKubeadm,
      timeouts: { controlPlaneMs: 600_000, tlsBootstrapMs: 600_000 },
      join: discoveryOf('prod-a'),
    }),
  },
  {
    fixture: '02-worker-registry-mirrors.join-worker',
    kubeadm: '1.35.2',
    flags: [],
    differences: [],
    files: [discoveryKubeconfig('/etc/kubernetes/discovery.conf')],
    model: kubernetesModel({
      role: 'Worker',
      kubeadm: { ignorePreflightErrors: ['HTTPProxyCIDR'] },
      join: {
        discovery: {
          path: '/etc/kubernetes/discovery.conf',
          endpoint: 'api.prod-b.example:6443',
          kubeconfig: {
            server: 'https://api.prod-b.example:6443',
            tlsServerName: undefined,
            insecureSkipTLSVerify: false,
            certificateAuthority: 'the CA of prod-b',
            proxyURL: undefined,
            user: {
              kind: 'exec',
              command: '/usr/local/bin/aws-iam-authenticator',
              args: ['token', '-i', 'prod-b'],
              env: [{ name: 'AWS_STS_REGIONAL_ENDPOINTS', value: 'regional' }],
              apiVersion: 'client.authentication.k8s.io/v1',
              provideClusterInfo: false,
            },
          },
        },
        tlsBootstrapToken: undefined,
        caCertPath: '/etc/kubernetes/pki/ca.crt',
      },
      node: {
        name: '{{ ds.meta_data.local_hostname }}',
        imagePullPolicy: 'IfNotPresent',
        taints: [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }, UNINITIALIZED],
        kubelet: {
          config: {},
          args: [
            { name: 'cloud-provider', value: 'external' },
            { name: 'node-labels', value: 'node.corp.example/pool=batch' },
            { name: 'image-credential-provider-config', value: '/etc/kubernetes/image-credential-provider.yaml' },
            { name: 'image-credential-provider-bin-dir', value: '/usr/local/bin' },
          ],
        },
      },
    }),
  },
  {
    fixture: '03-controlplane-etcd-disk.init',
    kubeadm: '1.34.3',
    // The example asks for --v 10, at which kubeadm prints Secrets.
    flags: ['--v=5', '--skip-token-print', '--skip-certificate-key-print'],
    differences: [{ ...SOCKET_IS_EXPLICIT, kind: 'InitConfiguration' }],
    model: kubernetesModel({
      version: 'v1.34.3',
      role: 'InitControlPlane',
      kubeadm: { verbosity: 10 },
      timeouts: { controlPlaneMs: 1_200_000 },
      node: etcdDiskNode,
      cluster: {
        ...NETWORK,
        name: 'prod-c',
        controlPlaneEndpoint: 'api.prod-c.example:6443',
        featureGates: { ControlPlaneKubeletLocalMode: true },
      },
      controlPlane: etcdDiskControlPlane('https://oidc.prod-c.example/', 'prod-c'),
    }),
  },
  {
    fixture: '03-controlplane-etcd-disk.join-controlplane',
    kubeadm: '1.34.3',
    flags: ['--v=5'],
    differences: [SOCKET_IS_EXPLICIT],
    model: kubernetesModel({
      version: 'v1.34.3',
      role: 'JoinControlPlane',
      kubeadm: { verbosity: 10 },
      timeouts: { controlPlaneMs: 1_200_000 },
      node: etcdDiskNode,
      join: discoveryOf('prod-c'),
    }),
  },
  {
    fixture: '03b-controlplane-etcd-disk.v1beta1.init',
    kubeadm: '1.30.9',
    flags: ['--skip-token-print', '--skip-certificate-key-print'],
    differences: [{ ...SOCKET_IS_EXPLICIT, kind: 'InitConfiguration' }],
    model: kubernetesModel({
      version: 'v1.30.9',
      role: 'InitControlPlane',
      timeouts: { controlPlaneMs: 1_200_000 },
      node: etcdDiskNode,
      cluster: {
        ...NETWORK,
        name: 'prod-c',
        controlPlaneEndpoint: 'api.prod-c.example:6443',
        bootstrapTokens: [
          {
            token: inlineSecret('abcdef.0123456789abcdef', 'bootstrapToken'),
            description: undefined,
            ttlMs: 3_600_000,
            expires: undefined,
            usages: [],
            groups: [],
          },
        ],
      },
      controlPlane: etcdDiskControlPlane('https://oidc.prod-c1.example/', 'prod-c1'),
    }),
  },
  {
    fixture: '03b-controlplane-etcd-disk.v1beta1.join-controlplane',
    kubeadm: '1.30.9',
    flags: [],
    differences: [
      SOCKET_IS_EXPLICIT,
      {
        kind: 'JoinConfiguration',
        path: ['discovery', 'timeout'],
        ours: '10m0s',
        because: "the example asks for discovery.timeout 10m; the provider's conversion loses it, we keep it",
      },
    ],
    model: kubernetesModel({
      version: 'v1.30.9',
      role: 'JoinControlPlane',
      timeouts: { controlPlaneMs: 1_200_000, discoveryMs: 600_000 },
      node: etcdDiskNode,
      join: discoveryOf('prod-c'),
    }),
  },
  {
    fixture: '05-worker-windows.join-worker',
    kubeadm: '1.35.2',
    flags: [],
    differences: [],
    model: kubernetesModel({
      role: 'Worker',
      join: discoveryOf('prod-e'),
      node: {
        name: '{{ ds.meta_data["local_hostname"] }}',
        criSocket: 'npipe:////./pipe/containerd-containerd',
        taints: [UNINITIALIZED],
        kubelet: {
          config: {},
          args: [
            { name: 'cloud-provider', value: 'external' },
            { name: 'register-with-taints', value: 'os=windows:NoSchedule' },
            { name: 'v', value: '2' },
            { name: 'windows-priorityclass', value: 'ABOVE_NORMAL_PRIORITY_CLASS' },
          ],
        },
      },
    }),
  },
];

describe("what Cluster API's kubeadm provider would have produced", () => {
  for (const { fixture, kubeadm, model, flags, differences, files = [] } of EXAMPLES) {
    test(`${fixture} by kubeadm ${kubeadm}`, () => {
      const rendered = renderKubeadm({ kubernetes: model, kubeadm: kubeadmOf(kubeadm), secrets: revealInline });
      const expected = byKind(
        readFileSync(new URL(`../../../fixtures/kubeadm/${fixture}.yaml`, import.meta.url), 'utf8'),
      );
      for (const { kind, path, ours, because } of differences) {
        const document = expected.get(kind);
        assert.ok(document, `${fixture} has a ${kind}`);
        assert.notDeepEqual(valueAt(document, path), ours, `no difference any more, remove it: ${because}`);
        setAt(document, path, ours);
      }
      assert.deepEqual(byKind(rendered.text), expected);
      assert.deepEqual(rendered.flags, flags);
      const read = rendered.files.map(({ path, mode, content }) => ({ path, mode, content: parse(content) }));
      assert.deepEqual(read, files);
    });
  }
});
