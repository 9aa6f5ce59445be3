import type { Role } from '@machineadm/document/model/index.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Spec } from '../spec/spec.ts';
import { clusterIdentity, convertCluster } from './cluster.ts';
import { convertComponents, convertExternalEtcd, nonEmpty, someTexts } from './components.ts';
import { convertJoin } from './discovery.ts';
import { convertNode } from './node.ts';
import { pkiOfFiles, pkiOfSecrets, type Variable } from './pki.ts';
import { placeholderName } from './placeholder.ts';
import { leaveJoinToProvider } from './provider-object.ts';
import { readTarget, type Target } from './target.ts';
import { convertTimeouts } from './timeouts.ts';

type ControlPlane = NonNullable<KubernetesSection['controlPlane']>;
type Kubeadm = NonNullable<NonNullable<KubernetesSection['bootstrapper']>['kubeadm']>;

/** kubeadm prints request bodies above it; the document refuses more. */
const HIGHEST_VERBOSITY = 5;

/** The section `kubernetes`; undefined where the version is unknown, which is reported. */
export async function convertKubernetes(
  spec: Spec,
  role: Role,
  conversion: Conversion,
  variable: Variable,
): Promise<KubernetesSection | undefined> {
  const { cluster } = spec;
  const target = readTarget(cluster.get('kubernetesVersion'), conversion);
  if (target === undefined) return undefined;
  const initializes = role === 'InitControlPlane';
  const configuration = initializes ? spec.init : spec.join;
  const registration = configuration.get('nodeRegistration');
  const kubeadm = convertKubeadm(spec, configuration, initializes, conversion);
  return {
    version: target.version,
    role,
    bootstrapper: kubeadm === undefined ? undefined : { kubeadm },
    cluster: initializes
      ? convertCluster(cluster, spec.init, target, conversion, variable)
      : conversion.options.forProvider === true
        ? undefined
        : omitEmpty(clusterIdentity(cluster, conversion)),
    pki: role === 'Worker' ? undefined : pkiOf(spec, !initializes, conversion, variable),
    controlPlane: role === 'Worker' ? undefined : convertControlPlane(spec, initializes, target, conversion),
    node: withConfig(
      convertNode(registration, role, spec.resolved, target, conversion, placeholderName(registration, spec)),
      spec.kubeletConfig,
    ),
    join: initializes ? undefined : await joinOf(spec, conversion, variable),
    addons: initializes ? convertAddons(spec) : undefined,
    timeouts: convertTimeouts(configuration, cluster, !initializes, target, conversion),
  };
}

async function joinOf(spec: Spec, conversion: Conversion, variable: Variable): Promise<KubernetesSection['join']> {
  if (conversion.options.forProvider !== true) return await convertJoin(spec, conversion, variable);
  leaveJoinToProvider(spec, conversion.report);
  return undefined;
}

type Node = KubernetesSection['node'];

function withConfig(node: Node, config: Spec['kubeletConfig']): Node {
  if (config === undefined || Object.keys(config).length === 0) return node;
  return { ...node, kubelet: { config: { ...config }, ...node?.kubelet } };
}

function pkiOf(spec: Spec, joins: boolean, conversion: Conversion, variable: Variable): KubernetesSection['pki'] {
  const own = pkiOfFiles(spec, conversion);
  if (spec.resolved) return own;
  const ofSecrets = pkiOfSecrets(spec, joins, conversion, variable);
  if (own === undefined || ofSecrets === undefined) return ofSecrets ?? own;
  const pair = (name: 'ca' | 'etcd' | 'frontProxy' | 'apiserverEtcdClient') =>
    own[name] === undefined ? ofSecrets[name] : { ...own[name], key: own[name].key ?? ofSecrets[name]?.key };
  return {
    ca: pair('ca'),
    etcd: pair('etcd'),
    frontProxy: pair('frontProxy'),
    serviceAccount: own.serviceAccount ?? ofSecrets.serviceAccount,
    apiserverEtcdClient: pair('apiserverEtcdClient'),
  };
}

function convertKubeadm(
  spec: Spec,
  configuration: Spec['init'],
  initializes: boolean,
  { report }: Conversion,
): Kubeadm | undefined {
  const verbosity = spec.verbosity.integer();
  if (verbosity !== undefined && verbosity > HIGHEST_VERBOSITY) {
    report.add('VerbosityLowered', spec.verbosity, `instead of ${verbosity}`);
  }
  const directory = nonEmpty(configuration.get('patches', 'directory'));
  return omitEmpty({
    verbosity: verbosity === undefined ? undefined : Math.min(verbosity, HIGHEST_VERBOSITY),
    skipPhases: someTexts(configuration.get('skipPhases')),
    ignorePreflightErrors: someTexts(configuration.get('nodeRegistration', 'ignorePreflightErrors')),
    patches: directory === undefined ? undefined : { directory },
    extraDocuments:
      !initializes || spec.extraDocuments.length === 0
        ? undefined
        : spec.extraDocuments.map((document) => document.whole() as NonNullable<Kubeadm['extraDocuments']>[number]),
  });
}

function convertControlPlane(
  spec: Spec,
  initializes: boolean,
  target: Target,
  conversion: Conversion,
): ControlPlane | undefined {
  const endpoint = initializes ? spec.init.get('localAPIEndpoint') : spec.join.get('controlPlane', 'localAPIEndpoint');
  // A joining machine needs no other component: kubeadm reads them from the cluster.
  const components = initializes
    ? convertComponents(spec.cluster, target, conversion)
    : { etcd: convertExternalEtcd(spec.cluster.get('etcd')) };
  const own = initializes ? spec.init : spec.join.get('controlPlane');
  const certificateKey = nonEmpty(own.get('certificateKey'));
  return omitEmpty({
    apiEndpoint: omitEmpty({
      advertiseAddress: nonEmpty(endpoint.get('advertiseAddress')),
      bindPort: endpoint.get('bindPort').integer() || undefined,
    }),
    ...components,
    certificateKey:
      certificateKey === undefined ? undefined : conversion.secrets.value('certificateKey', certificateKey),
  });
}

function convertAddons({ cluster }: Spec): KubernetesSection['addons'] {
  const dns = cluster.get('dns');
  const proxy = cluster.get('proxy');
  return omitEmpty({
    dns: omitEmpty({
      enabled: dns.get('disabled').flag() === true ? false : undefined,
      imageRepository: nonEmpty(dns.get('imageRepository')),
      imageTag: nonEmpty(dns.get('imageTag')),
    }),
    proxy: omitEmpty({ enabled: proxy.get('disabled').flag() === true ? false : undefined }),
  });
}
