import type {
  AddonsModel,
  ApiServerModel,
  ClusterModel,
  ComponentModel,
  ControlPlaneModel,
  ExecModel,
  JoinModel,
  KubeadmModel,
  KubernetesModel,
  NodeModel,
  PkiModel,
  Role,
  TimeoutsModel,
} from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';

/** What a test says of a model; everything else is as in an empty document. */
export interface KubernetesOverrides {
  readonly version?: string;
  readonly role?: Role;
  readonly kubeadm?: Partial<KubeadmModel>;
  readonly exec?: ExecModel;
  readonly cluster?: Partial<ClusterModel>;
  readonly pki?: Partial<PkiModel>;
  readonly controlPlane?: Partial<ControlPlaneModel>;
  readonly node?: Partial<NodeModel>;
  readonly join?: JoinModel;
  readonly addons?: Partial<AddonsModel>;
  readonly timeouts?: Partial<TimeoutsModel>;
}

/** A component with nothing asked of it. */
export const PLAIN_COMPONENT: ComponentModel = { args: [], env: [], volumes: [] };

/** An API server with nothing asked of it. */
export const PLAIN_API_SERVER: ApiServerModel = {
  ...PLAIN_COMPONENT,
  certSANs: [],
  audit: undefined,
  encryptionAtRest: undefined,
  authentication: undefined,
  authorization: undefined,
  admission: undefined,
};

/** A local etcd with nothing asked of it. */
export const PLAIN_ETCD = {
  kind: 'local',
  dataDirectory: undefined,
  imageRepository: undefined,
  imageTag: undefined,
  args: [],
  env: [],
  serverCertSANs: [],
  peerCertSANs: [],
} as const;

/** The model of a document that asks for nothing but what the test names. */
export function kubernetesModel(overrides: KubernetesOverrides = {}): KubernetesModel {
  return {
    version: overrides.version ?? 'v1.35.2',
    role: overrides.role ?? 'InitControlPlane',
    kubeadm: {
      verbosity: undefined,
      skipPhases: [],
      ignorePreflightErrors: [],
      patchesDirectory: undefined,
      patches: [],
      failFast: true,
      retry: { attempts: 3, backoffMs: 10_000 },
      ...overrides.kubeadm,
    },
    exec: overrides.exec,
    cluster: {
      name: undefined,
      controlPlaneEndpoint: undefined,
      podSubnets: [],
      serviceSubnets: [],
      dnsDomain: undefined,
      imageRepository: undefined,
      featureGates: {},
      certificatesDirectory: '/etc/kubernetes/pki',
      certificateValidityMs: undefined,
      caCertificateValidityMs: undefined,
      encryptionAlgorithm: undefined,
      bootstrapTokens: [],
      ...overrides.cluster,
    },
    pki: {
      ca: undefined,
      etcd: undefined,
      frontProxy: undefined,
      serviceAccount: undefined,
      apiserverEtcdClient: undefined,
      ...overrides.pki,
    },
    controlPlane: {
      apiEndpoint: { advertiseAddress: undefined, bindPort: undefined },
      apiServer: PLAIN_API_SERVER,
      controllerManager: PLAIN_COMPONENT,
      scheduler: PLAIN_COMPONENT,
      etcd: PLAIN_ETCD,
      certificateKey: undefined,
      certificates: { renewBeforeMs: undefined },
      staticPods: [],
      ...overrides.controlPlane,
    },
    node: {
      name: undefined,
      providerID: undefined,
      addresses: undefined,
      labels: {},
      reservedLabels: {},
      taints: undefined,
      criSocket: 'unix:///run/containerd/containerd.sock',
      imagePullPolicy: undefined,
      imagePullSerial: undefined,
      kubelet: { config: {}, args: [] },
      ...overrides.node,
    },
    join: overrides.join,
    addons: {
      dns: { enabled: true, imageRepository: undefined, imageTag: undefined },
      proxy: { enabled: true, config: {} },
      ...overrides.addons,
    },
    timeouts: {
      controlPlaneMs: undefined,
      kubeletMs: undefined,
      apiMs: undefined,
      etcdMs: undefined,
      tlsBootstrapMs: undefined,
      discoveryMs: undefined,
      overallMs: 1_800_000,
      ...overrides.timeouts,
    },
    ready: { require: 'NodeRegistered', timeoutMs: 300_000, endpoint: 'Required' },
  };
}

/** A secret that is written into the document. */
export function inlineSecret(value: string, name = 'secret'): SecretValue {
  return { name, source: { kind: 'value', secret: new Secret(value) } };
}

/** The value of a secret made by `inlineSecret`. */
export function revealInline(value: SecretValue): string {
  if (value.source.kind !== 'value') throw new Error(`${value.name} is not written into the document`);
  return value.source.secret.reveal();
}

/** `1.30.9` as the facts hold it. */
export function kubeadmOf(text: string): Version {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return { major, minor, patch, text };
}
