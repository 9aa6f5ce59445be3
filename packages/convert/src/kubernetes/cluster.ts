import { KUBEADM_GATES } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Source } from '../values/source.ts';
import { nonEmpty } from './components.ts';
import { readDuration, readValidity } from './durations.ts';
import type { Variable } from './pki.ts';
import { onlySince, type Target, V1BETA4_MINOR } from './target.ts';

type Cluster = NonNullable<KubernetesSection['cluster']>;
type BootstrapToken = NonNullable<Cluster['bootstrapTokens']>[number];

/** Set by the provider (cluster-api bootstrap/kubeadm/reconcilers/kubeadmconfig, reconcileTopLevelObjectSettings). */
const DEFAULT_PORT = 6443;

/** `kubernetes.cluster` of the machine that starts the cluster. */
export function convertCluster(
  cluster: Source,
  init: Source,
  target: Target,
  conversion: Conversion,
  variable: Variable,
): Cluster | undefined {
  const { related, report } = conversion;
  reportUnknownCluster(cluster, conversion);
  const wrong = (at: Source): void => {
    report.add('InputInvalid', at, 'expected a duration, such as "10m0s"');
  };
  const networking = cluster.get('networking');
  const validity = readValidity(cluster, 'certificateValidity', wrong);
  const caValidity = readValidity(cluster, 'caCertificateValidity', wrong);
  const algorithm = algorithmOf(cluster.get('encryptionAlgorithm'), conversion);
  const since = <T>(value: T | undefined, field: string): T | undefined =>
    onlySince(V1BETA4_MINOR, value, cluster.get(field), target, conversion);
  return omitEmpty({
    ...clusterIdentity(cluster, conversion),
    controlPlaneEndpoint: endpointOf(cluster.get('controlPlaneEndpoint'), conversion, variable),
    podSubnets: subnets(networking.get('podSubnet'), related.podSubnets, conversion),
    serviceSubnets: subnets(networking.get('serviceSubnet'), related.serviceSubnets, conversion),
    dnsDomain: filled(
      nonEmpty(networking.get('dnsDomain')),
      related.dnsDomain,
      networking.get('dnsDomain'),
      conversion,
    ),
    imageRepository: nonEmpty(cluster.get('imageRepository')),
    featureGates: featureGates(cluster.get('featureGates'), target, conversion),
    certificateValidity: since(validity, 'certificateValidityPeriodDays'),
    caCertificateValidity: since(caValidity, 'caCertificateValidityPeriodDays'),
    // Before v1beta4 ECDSA-P256 is a feature gate of kubeadm, which machineadm sets.
    encryptionAlgorithm: algorithm === 'ECDSA-P256' ? algorithm : since(algorithm, 'encryptionAlgorithm'),
    bootstrapTokens: bootstrapTokens(init.get('bootstrapTokens'), conversion),
  });
}

/** A Cluster without networks has none; without a Cluster nobody knows. The provider would not have started. */
function reportUnknownCluster(cluster: Source, { related, resolved, report, object }: Conversion): void {
  if (related.hasCluster || resolved) return;
  const networking = cluster.get('networking');
  const names = ['clusterName', 'controlPlaneEndpoint'].map((name) => cluster.get(name));
  const fields = [...names, ...['podSubnet', 'serviceSubnet'].map((name) => networking.get(name))];
  if (fields.every((field) => nonEmpty(field) !== undefined)) return;
  report.add('ClusterUnknown', object, 'give the Cluster, or write kubernetes.cluster into the document');
}

/** Settings of the cluster for every machine: its name, and the certificates directory. */
export function clusterIdentity(
  cluster: Source,
  conversion: Conversion,
): Pick<Cluster, 'name' | 'certificatesDirectory'> {
  const name = cluster.get('clusterName');
  return {
    name: filled(nonEmpty(name), conversion.related.clusterName, name, conversion),
    certificatesDirectory: nonEmpty(cluster.get('certificatesDir')),
  };
}

/**
 * The Cluster's value takes precedence over a configuration of v1beta1; v1beta2 no longer has such fields (cluster-api
 * api/bootstrap/kubeadm/v1beta1/conversion.go). In user data the provider has set it.
 */
function filled(
  own: string | undefined,
  ofCluster: string | undefined,
  at: Source,
  { report, resolved }: Conversion,
): string | undefined {
  if (ofCluster === undefined || (resolved && own !== undefined)) return own;
  if (own !== ofCluster) report.add('ClusterValue', at, own === undefined ? ofCluster : `${ofCluster}, not ${own}`);
  return ofCluster;
}

function subnets(source: Source, ofCluster: readonly string[], conversion: Conversion): string[] | undefined {
  const own = nonEmpty(source);
  const text = filled(own, ofCluster.length === 0 ? undefined : ofCluster.join(','), source, conversion);
  return text?.split(',').map((subnet) => subnet.trim());
}

function endpointOf(source: Source, conversion: Conversion, variable: Variable): string | undefined {
  const { options, related, resolved } = conversion;
  // Here the configuration takes precedence.
  const endpoint = nonEmpty(source) ?? filled(undefined, options.endpoint ?? related.endpoint, source, conversion);
  if (endpoint !== undefined) return withPort(endpoint, source, conversion);
  // Its infrastructure provider fills it in. Without a Cluster the decision ClusterUnknown is about it, too.
  return resolved || !related.hasCluster ? undefined : variable('endpoint', 'the endpoint of the API server');
}

/** kubeadm uses the API server's port if the endpoint has none. */
export function withPort(endpoint: string, at: Source, { report }: Conversion): string {
  const hasColons = endpoint.indexOf(':') !== endpoint.lastIndexOf(':');
  if (/:\d{1,5}$/.test(endpoint) && (!hasColons || endpoint.startsWith('['))) return endpoint;
  report.add('EndpointPort', at, `:${DEFAULT_PORT} is added`);
  return hasColons && !endpoint.startsWith('[') ? `[${endpoint}]:${DEFAULT_PORT}` : `${endpoint}:${DEFAULT_PORT}`;
}

/** KubeadmControlPlane sets it while kubeadm has the gate (cluster-api controlplane/kubeadm, DefaultFeatureGates). */
const LOCAL_MODE = 'ControlPlaneKubeletLocalMode';

function featureGates(source: Source, target: Target, conversion: Conversion): Record<string, boolean> | undefined {
  const gates: Record<string, boolean> = {};
  for (const [name, value] of source.members()) gates[name] = value.flag() ?? false;
  const sets = conversion.related.ofControlPlane && includes(KUBEADM_GATES[LOCAL_MODE], target.minor);
  if (sets && gates[LOCAL_MODE] === undefined) {
    gates[LOCAL_MODE] = true;
    conversion.report.add('KubeletLocalMode', source, LOCAL_MODE);
  }
  return Object.keys(gates).length === 0 ? undefined : gates;
}

const ALGORITHMS: readonly NonNullable<Cluster['encryptionAlgorithm']>[] = [
  'RSA-2048',
  'RSA-3072',
  'RSA-4096',
  'ECDSA-P256',
  'ECDSA-P384',
];

function algorithmOf(source: Source, { report }: Conversion): Cluster['encryptionAlgorithm'] {
  const text = nonEmpty(source);
  if (text === undefined) return undefined;
  const known = ALGORITHMS.find((algorithm) => algorithm === text);
  if (known === undefined) report.add('InputInvalid', source, `expected one of ${ALGORITHMS.join(', ')}`);
  return known;
}

/**
 * kubeadm sets defaults before it validates, and so refuses two combinations (k/k apis/bootstraptoken/v1/defaults.go).
 */
function bootstrapTokens(source: Source, { report, secrets }: Conversion): BootstrapToken[] | undefined {
  const tokens = source.items().map((token, index): BootstrapToken => {
    const ttl = readDuration(token, 'ttl', (at) => {
      report.add('InputInvalid', at, 'expected a duration, such as "24h0m0s"');
    });
    if (ttl === '0s') report.add('TokenForEver', token.get('ttlSeconds'), 'write a time to live');
    if (nonEmpty(token.get('expires')) !== undefined) report.add('TokenExpires', token.get('expires'), '24h');
    const usages = someUsages(token.get('usages'), report);
    return {
      token: secrets.value(
        index === 0 ? 'bootstrapToken' : `bootstrapToken-${index + 1}`,
        token.get('token').text() ?? '',
      ),
      description: nonEmpty(token.get('description')),
      ttl,
      usages,
      groups: token.get('groups').exists ? [...token.get('groups').texts()] : undefined,
    };
  });
  return tokens.length === 0 ? undefined : tokens;
}

function someUsages(source: Source, report: Conversion['report']): BootstrapToken['usages'] {
  const usages = source.items().flatMap((item): ('signing' | 'authentication')[] => {
    const usage = item.text();
    if (usage === 'signing' || usage === 'authentication') return [usage];
    report.add('InputInvalid', item, 'expected signing or authentication');
    return [];
  });
  if (usages.length === 0) return undefined;
  if (usages.includes('authentication')) return usages;
  report.add('TokenUsages', source, 'usages');
  return [...usages, 'authentication'];
}
