import type {
  AddonsModel,
  BootstrapToken,
  ClusterModel,
  ControlPlaneModel,
  KeyPair,
  KubernetesModel,
  Metadata,
  NodeModel,
  PkiModel,
  Role,
  TimeoutsModel,
} from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { SecretLookup } from '../secrets.ts';

/**
 * The standard input of a program that replaces kubeadm, as one JSON object: the cluster in our terms, with secrets in
 * plain text. Fields that the document does not set are left out. Times are in milliseconds.
 */
export interface BootstrapOrder {
  readonly apiVersion: 'machineadm.dev/bootstrap-order/v1alpha1';
  readonly kind: 'BootstrapOrder';
  readonly machine: Metadata;
  /** `v1.30.4+k3s1` */
  readonly version: string;
  readonly role: Role;
  readonly nodeName: string;
  readonly cluster: Omit<ClusterModel, 'bootstrapTokens'> & {
    readonly bootstrapTokens: readonly (Omit<BootstrapToken, 'token'> & { readonly token: string })[];
  };
  readonly pki: {
    readonly ca?: OrderedKeyPair;
    readonly etcd?: OrderedKeyPair;
    readonly frontProxy?: OrderedKeyPair;
    readonly apiserverEtcdClient?: OrderedKeyPair;
    readonly serviceAccount?: { readonly publicKey: string; readonly key: string };
  };
  readonly controlPlane: Omit<ControlPlaneModel, 'certificateKey' | 'certificates' | 'staticPods'> & {
    readonly certificateKey?: string;
  };
  readonly node: NodeModel;
  readonly join?: {
    readonly endpoint?: string;
    readonly token?: string;
    readonly caCertHashes: readonly string[];
    readonly unsafeSkipCAVerification: boolean;
    /** Of discovery by file. */
    readonly kubeconfigPath?: string;
    readonly tlsBootstrapToken?: string;
    readonly caCertPath: string;
  };
  readonly addons: AddonsModel;
  readonly timeouts: TimeoutsModel;
}

/** PEM. */
export interface OrderedKeyPair {
  readonly certificate: string;
  readonly key?: string;
}

/** The order of a document. Pure. */
export function bootstrapOrder(
  kubernetes: KubernetesModel,
  machine: Metadata,
  nodeName: string,
  secrets: SecretLookup,
): BootstrapOrder {
  const { cluster, pki, controlPlane, node, join, addons, timeouts } = kubernetes;
  const { certificateKey, certificates: _certificates, staticPods: _staticPods, ...components } = controlPlane;
  return {
    apiVersion: 'machineadm.dev/bootstrap-order/v1alpha1',
    kind: 'BootstrapOrder',
    machine,
    version: kubernetes.version,
    role: kubernetes.role,
    nodeName,
    cluster: {
      ...cluster,
      bootstrapTokens: cluster.bootstrapTokens.map((given) => ({ ...given, token: secrets(given.token) })),
    },
    pki: orderedPki(pki, secrets),
    controlPlane: { ...components, ...present('certificateKey', certificateKey, secrets) },
    node,
    ...(join === undefined ? {} : { join: orderedJoin(join, secrets) }),
    addons,
    timeouts,
  };
}

/** Every secret in the order of a document. */
export function secretsOfOrder(kubernetes: KubernetesModel, machine: Metadata): readonly SecretValue[] {
  const wanted: SecretValue[] = [];
  bootstrapOrder(kubernetes, machine, '', (value) => {
    wanted.push(value);
    return '';
  });
  return wanted;
}

function orderedPki(pki: PkiModel, secrets: SecretLookup): BootstrapOrder['pki'] {
  const pair = (from: KeyPair): OrderedKeyPair => ({
    certificate: from.certificate,
    ...present('key', from.key, secrets),
  });
  const { ca, etcd, frontProxy, apiserverEtcdClient, serviceAccount } = pki;
  return {
    ...(ca === undefined ? {} : { ca: pair(ca) }),
    ...(etcd === undefined ? {} : { etcd: pair(etcd) }),
    ...(frontProxy === undefined ? {} : { frontProxy: pair(frontProxy) }),
    ...(apiserverEtcdClient === undefined ? {} : { apiserverEtcdClient: pair(apiserverEtcdClient) }),
    ...(serviceAccount === undefined
      ? {}
      : { serviceAccount: { publicKey: serviceAccount.publicKey, key: secrets(serviceAccount.key) } }),
  };
}

function orderedJoin(
  { discovery, tlsBootstrapToken, caCertPath }: NonNullable<KubernetesModel['join']>,
  secrets: SecretLookup,
): NonNullable<BootstrapOrder['join']> {
  const shared = { caCertPath, ...present('tlsBootstrapToken', tlsBootstrapToken, secrets) };
  if ('token' in discovery) {
    const { endpoint, caCertHashes, unsafeSkipCAVerification, token } = discovery;
    return { endpoint, token: secrets(token), caCertHashes, unsafeSkipCAVerification, ...shared };
  }
  const { endpoint, path } = discovery;
  const where = endpoint === undefined ? {} : { endpoint };
  return { ...where, kubeconfigPath: path, caCertHashes: [], unsafeSkipCAVerification: false, ...shared };
}

function present<Name extends string>(
  name: Name,
  value: SecretValue | undefined,
  secrets: SecretLookup,
): { readonly [Key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: secrets(value) } as { readonly [Key in Name]: string });
}
