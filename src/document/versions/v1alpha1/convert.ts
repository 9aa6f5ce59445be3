import type {
  ComponentModel,
  ContainerdModel,
  EtcdModel,
  FileModel,
  HookGroup,
  KeyPair,
  KubernetesModel,
  Model,
  ReportingModel,
} from '../../model.ts';
import { decodeContent } from './content.ts';
import { toGroups, toProxy, toStorage, toTime, toUsers } from './convert-host.ts';
import { headersOf, milliseconds, type ResolveSecret, secretResolver } from './convert-values.ts';
import type { FileSection, HookGroupSection } from './host.ts';
import type { ComponentSection, KubernetesSection } from './kubernetes.ts';
import type { Sections } from './sections.ts';
import { canonicalSysctlKey } from './sysctl-key.ts';

/** Defaults that the documentation promises; kubeadm's own stay kubeadm's. */
const DEFAULT_HOOK_TIMEOUT_MS = 10 * 60_000;
const DEFAULT_OVERALL_MS = 30 * 60_000;
const DEFAULT_READY_TIMEOUT_MS = 5 * 60_000;
const DEFAULT_REPORTING_DEADLINE_MS = 30_000;
/** Read by Cluster API providers: bootstrap provider contract, `bootstrap-success.complete`. */
const DEFAULT_SENTINEL = '/run/cluster-api/bootstrap-success.complete';
const DEFAULT_CRI_SOCKET = 'unix:///run/containerd/containerd.sock';

/** The internal model of a valid v1alpha1 document. */
export async function toModel(sections: Sections): Promise<Model> {
  const { metadata, host, containerRuntime, images, kubernetes, reporting } = sections;
  const resolve = secretResolver(sections.secrets ?? {});
  const hooks = host?.hooks;
  return {
    metadata: {
      name: metadata?.name ?? '',
      namespace: metadata?.namespace,
      uid: metadata?.uid,
      cluster: metadata?.cluster,
      labels: metadata?.labels ?? {},
    },
    host: {
      hostname: host?.hostname,
      kernelModules: [...new Set((host?.kernelModules ?? []).map((name) => name.replaceAll('-', '_')))],
      sysctl: Object.entries(host?.sysctl ?? {}).map(([key, value]) => ({
        key: canonicalSysctlKey(key),
        value: String(value),
      })),
      swap: host?.swap ?? 'Unmanaged',
      storage: toStorage(host?.storage),
      groups: toGroups(host?.groups),
      users: toUsers(host?.users, resolve),
      time: toTime(host?.time),
      proxy: toProxy(host?.proxy, resolve),
      certificateAuthorities: host?.certificateAuthorities ?? [],
      services: (host?.services ?? []).map((service) => ({
        name: service.name,
        enabled: service.enabled,
        masked: service.masked,
        state: service.state,
        dropIns: service.dropIns ?? [],
      })),
      files: await Promise.all((host?.files ?? []).map((file) => toFile(file, resolve))),
      hooks: {
        early: toHookGroup(hooks?.early),
        beforeBootstrap: toHookGroup(hooks?.beforeBootstrap),
        afterBootstrap: toHookGroup(hooks?.afterBootstrap),
      },
    },
    containerd: toContainerd(containerRuntime?.containerd),
    images: {
      archives: (images?.archives ?? []).map(({ path, sha256 }) => ({ path, sha256 })),
      required: images?.required ?? [],
    },
    kubernetes: kubernetes === undefined ? undefined : toKubernetes(kubernetes, resolve),
    reporting: toReporting(reporting),
  };
}

async function toFile(file: FileSection, resolve: ResolveSecret): Promise<FileModel> {
  const { contentFrom } = file;
  const content: FileModel['content'] =
    contentFrom === undefined
      ? { kind: 'inline', bytes: await decodeContent(file.content ?? '', file.encoding) }
      : 'secret' in contentFrom
        ? { kind: 'secret', secret: resolve(contentFrom, `file ${file.path}`) }
        : 'file' in contentFrom
          ? { kind: 'file', path: contentFrom.file }
          : {
              kind: 'http',
              url: contentFrom.http.url,
              sha256: contentFrom.http.sha256,
              headers: headersOf(contentFrom.http.headers, resolve, `file ${file.path}`),
            };
  const [user = 'root', group] = (file.owner ?? 'root:root').split(':');
  return {
    path: file.path,
    content,
    mode: parseInt(file.mode ?? (content.kind === 'secret' ? '0600' : '0644'), 8),
    user,
    group: group ?? user,
    directoryMode: parseInt(file.directoryMode ?? '0755', 8),
    append: file.append ?? false,
  };
}

function toHookGroup(section: HookGroupSection | undefined): HookGroup | undefined {
  if (section === undefined) return undefined;
  return {
    shell: section.shell ?? 'sh',
    onError: section.onError ?? 'Fail',
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_HOOK_TIMEOUT_MS,
    commands: section.commands,
    frequency: section.frequency ?? 'Once',
  };
}

function toContainerd(section: NonNullable<Sections['containerRuntime']>['containerd']): ContainerdModel | undefined {
  if (section === undefined) return undefined;
  return {
    cgroupDriver: section.cgroupDriver ?? 'systemd',
    sandboxImage: section.sandboxImage,
    restrictOomScoreAdj: section.restrictOomScoreAdj,
    settings: section.settings ?? {},
  };
}

function toReporting(section: Sections['reporting']): ReportingModel {
  return {
    sentinelPath: section?.sentinel?.path ?? DEFAULT_SENTINEL,
    deadlineMs: milliseconds(section?.deadline) ?? DEFAULT_REPORTING_DEADLINE_MS,
    sinks: (section?.sinks ?? [{ type: 'Journal' as const }]).map((sink) =>
      sink.type === 'Console' ? { kind: 'Console', device: sink.device ?? '/dev/console' } : { kind: 'Journal' },
    ),
  };
}

function toKubernetes(section: KubernetesSection, resolve: ResolveSecret): KubernetesModel {
  const { timeouts, ready, addons, node } = section;
  const kubeadm = section.bootstrapper?.kubeadm;
  return {
    version: section.version,
    role: section.role,
    kubeadm: {
      verbosity: kubeadm?.verbosity,
      skipPhases: kubeadm?.skipPhases ?? [],
      ignorePreflightErrors: kubeadm?.ignorePreflightErrors ?? [],
      patchesDirectory: kubeadm?.patches?.directory,
    },
    cluster: toCluster(section.cluster, resolve),
    pki: toPki(section.pki, resolve),
    controlPlane: toControlPlane(section.controlPlane, resolve),
    node: {
      name: node?.name,
      providerID: node?.providerID,
      labels: node?.labels ?? {},
      taints: node?.taints?.map(({ key, value, effect }) => ({ key, value, effect })),
      criSocket: node?.criSocket ?? DEFAULT_CRI_SOCKET,
      imagePullPolicy: node?.imagePullPolicy,
      imagePullSerial: node?.imagePullSerial,
      kubelet: { config: node?.kubelet?.config ?? {}, args: node?.kubelet?.args ?? [] },
    },
    join: toJoin(section.join, resolve),
    addons: {
      dns: {
        enabled: addons?.dns?.enabled ?? true,
        imageRepository: addons?.dns?.imageRepository,
        imageTag: addons?.dns?.imageTag,
      },
      proxy: { enabled: addons?.proxy?.enabled ?? true },
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
      require: ready?.require ?? 'NodeRegistered',
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
    apiServer: { ...toComponent(section?.apiServer), certSANs: section?.apiServer?.certSANs ?? [] },
    controllerManager: toComponent(section?.controllerManager),
    scheduler: toComponent(section?.scheduler),
    etcd: toEtcd(section?.etcd),
    certificateKey: key === undefined ? undefined : resolve(key, 'kubernetes.controlPlane.certificateKey'),
  };
}

function toComponent(section: ComponentSection | undefined): ComponentModel {
  return {
    args: section?.args ?? [],
    env: section?.env ?? [],
    volumes: (section?.volumes ?? []).map((volume) => ({
      name: volume.name,
      hostPath: volume.hostPath,
      mountPath: volume.mountPath,
      readOnly: volume.readOnly ?? false,
      pathType: volume.pathType,
    })),
  };
}

function toEtcd(section: NonNullable<KubernetesSection['controlPlane']>['etcd']): EtcdModel {
  if (section?.external !== undefined) return { kind: 'external', ...section.external };
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

function toJoin(section: KubernetesSection['join'], resolve: ResolveSecret): KubernetesModel['join'] {
  if (section === undefined) return undefined;
  const { token } = section.discovery;
  const tlsToken = section.tlsBootstrapToken;
  return {
    discovery: {
      token: resolve(token.token, 'kubernetes.join.discovery.token.token'),
      endpoint: token.endpoint,
      caCertHashes: token.caCertHashes ?? [],
      unsafeSkipCAVerification: token.unsafeSkipCAVerification ?? false,
    },
    tlsBootstrapToken: tlsToken === undefined ? undefined : resolve(tlsToken, 'kubernetes.join.tlsBootstrapToken'),
    caCertPath: section.caCertPath ?? '/etc/kubernetes/pki/ca.crt',
  };
}
