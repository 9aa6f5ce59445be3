import type { EtcdModel, KeyPair, KubernetesModel, Platform } from '../../model.ts';
import { DEFAULT_CRI_SOCKETS } from '../../model-kubernetes.ts';
import { toApiServer } from '../../sections/api-server/index.ts';
import { toComponent } from '../../sections/kubernetes/component.ts';
import { extraConfiguration, toExec, toKubeadm } from './convert-bootstrapper.ts';
import { toJoin } from './convert-join.ts';
import { milliseconds, type ResolveSecret } from './convert-values.ts';
import type { KubernetesSection } from './kubernetes.ts';

/** The section `kubernetes`. Defaults that the documentation promises; kubeadm's own stay kubeadm's. */

const DEFAULT_OVERALL_MS = 30 * 60_000;
const DEFAULT_READY_TIMEOUT_MS = 5 * 60_000;

export function toKubernetes(section: KubernetesSection, platform: Platform, resolve: ResolveSecret): KubernetesModel {
  const { timeouts, ready, addons, node, bootstrapper } = section;
  const extra = extraConfiguration(bootstrapper?.kubeadm);
  return {
    version: section.version,
    role: section.role,
    kubeadm: toKubeadm(bootstrapper?.kubeadm),
    exec: toExec(bootstrapper?.exec, ready?.require),
    cluster: toCluster(section.cluster, resolve),
    pki: toPki(section.pki, resolve),
    controlPlane: toControlPlane(section.controlPlane, resolve),
    node: {
      name: node?.name,
      providerID: node?.providerID,
      labels: node?.labels ?? {},
      taints: node?.taints?.map(({ key, value, effect }) => ({ key, value, effect })),
      criSocket: node?.criSocket ?? DEFAULT_CRI_SOCKETS[platform],
      imagePullPolicy: node?.imagePullPolicy,
      imagePullSerial: node?.imagePullSerial,
      kubelet: { config: { ...extra.kubelet, ...node?.kubelet?.config }, args: node?.kubelet?.args ?? [] },
    },
    join: toJoin(section.join, resolve),
    addons: {
      dns: {
        enabled: addons?.dns?.enabled ?? true,
        imageRepository: addons?.dns?.imageRepository,
        imageTag: addons?.dns?.imageTag,
      },
      proxy: { enabled: addons?.proxy?.enabled ?? true, config: { ...extra.proxy, ...addons?.proxy?.config } },
    },
    timeouts: {
      controlPlaneMs: milliseconds(timeouts?.controlPlane),
      kubeletMs: milliseconds(timeouts?.kubelet),
      apiMs: milliseconds(timeouts?.api),
      etcdMs: milliseconds(timeouts?.etcd),
      tlsBootstrapMs: milliseconds(timeouts?.tlsBootstrap),
      discoveryMs: milliseconds(timeouts?.discovery),
      overallMs: milliseconds(timeouts?.overall) ?? DEFAULT_OVERALL_MS,
    },
    ready: {
      require: toProof(ready?.require),
      timeoutMs: milliseconds(ready?.timeout) ?? DEFAULT_READY_TIMEOUT_MS,
    },
  };
}

function toCluster(section: KubernetesSection['cluster'], resolve: ResolveSecret): KubernetesModel['cluster'] {
  return {
    name: section?.name,
    controlPlaneEndpoint: section?.controlPlaneEndpoint,
    podSubnets: section?.podSubnets ?? [],
    serviceSubnets: section?.serviceSubnets ?? [],
    dnsDomain: section?.dnsDomain,
    imageRepository: section?.imageRepository,
    featureGates: section?.featureGates ?? {},
    certificatesDirectory: section?.certificatesDirectory ?? '/etc/kubernetes/pki',
    certificateValidityMs: milliseconds(section?.certificateValidity),
    caCertificateValidityMs: milliseconds(section?.caCertificateValidity),
    encryptionAlgorithm: section?.encryptionAlgorithm,
    bootstrapTokens: (section?.bootstrapTokens ?? []).map((token, index) => ({
      token: resolve(token.token, `kubernetes.cluster.bootstrapTokens[${index}].token`),
      description: token.description,
      ttlMs: milliseconds(token.ttl),
      expires: token.expires,
      usages: token.usages ?? [],
      groups: token.groups ?? [],
    })),
  };
}

function toPki(section: KubernetesSection['pki'], resolve: ResolveSecret): KubernetesModel['pki'] {
  const keyPair = (name: 'ca' | 'etcd' | 'frontProxy' | 'apiserverEtcdClient'): KeyPair | undefined => {
    const pair = section?.[name];
    if (pair === undefined) return undefined;
    const key = pair.key === undefined ? undefined : resolve(pair.key, `kubernetes.pki.${name}.key`);
    return { certificate: pair.certificate, key };
  };
  const account = section?.serviceAccount;
  return {
    ca: keyPair('ca'),
    etcd: keyPair('etcd'),
    frontProxy: keyPair('frontProxy'),
    serviceAccount:
      account === undefined
        ? undefined
        : { publicKey: account.publicKey, key: resolve(account.key, 'kubernetes.pki.serviceAccount.key') },
    apiserverEtcdClient: keyPair('apiserverEtcdClient'),
  };
}

function toControlPlane(
  section: KubernetesSection['controlPlane'],
  resolve: ResolveSecret,
): KubernetesModel['controlPlane'] {
  const key = section?.certificateKey;
  return {
    apiEndpoint: {
      advertiseAddress: section?.apiEndpoint?.advertiseAddress,
      bindPort: section?.apiEndpoint?.bindPort,
    },
    apiServer: toApiServer(section?.apiServer ?? {}, resolve),
    controllerManager: toComponent(section?.controllerManager),
    scheduler: toComponent(section?.scheduler),
    etcd: toEtcd(section?.etcd),
    certificateKey: key === undefined ? undefined : resolve(key, 'kubernetes.controlPlane.certificateKey'),
    staticPods: (section?.staticPods ?? []).map(({ name, manifest, adminKubeconfig }) => ({
      name,
      manifest,
      adminKubeconfig: adminKubeconfig ?? 'Auto',
    })),
  };
}

function toEtcd(section: NonNullable<KubernetesSection['controlPlane']>['etcd']): EtcdModel {
  if (section?.external !== undefined) {
    return { kind: 'external', ...section.external, httpEndpoints: section.external.httpEndpoints ?? [] };
  }
  const local = section?.local;
  return {
    kind: 'local',
    dataDirectory: local?.dataDirectory,
    imageRepository: local?.imageRepository,
    imageTag: local?.imageTag,
    args: local?.args ?? [],
    env: local?.env ?? [],
    serverCertSANs: local?.serverCertSANs ?? [],
    peerCertSANs: local?.peerCertSANs ?? [],
  };
}

type Proof = NonNullable<NonNullable<KubernetesSection['ready']>['require']>;

/** `Command` is for a program of one's own only (`ExecModel.proof`). */
function toProof(require: Proof | undefined): KubernetesModel['ready']['require'] {
  return require === undefined || require === 'Command' ? 'NodeRegistered' : require;
}
