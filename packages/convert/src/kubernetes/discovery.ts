import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { JoinSection } from '@machineadm/document/sections/kubernetes/join.ts';
import type { Conversion } from '../inputs/conversion.ts';
import { fromBase64 } from '../inputs/secrets.ts';
import type { Spec } from '../spec/spec.ts';
import type { Source } from '../values/source.ts';
import { caCertHash } from './certificate-hash.ts';
import { withPort } from './cluster.ts';
import { nonEmpty, someTexts } from './components.ts';
import { clusterAuthority, type Variable } from './pki.ts';

type Discovery = JoinSection['discovery'];
type FileDiscovery = NonNullable<Discovery['file']>;
type Kubeconfig = NonNullable<FileDiscovery['kubeconfig']>;

const JOIN_TOKEN = 'join-token';

/** `kubernetes.join`, with what the provider would fill in (kubeadmconfig_controller.go, reconcileDiscovery). */
export async function convertJoin(spec: Spec, conversion: Conversion, variable: Variable): Promise<JoinSection> {
  const discovery = spec.join.get('discovery');
  const tlsToken = nonEmpty(discovery.get('tlsBootstrapToken'));
  const file = discovery.get('file');
  return {
    discovery: file.exists
      ? { file: fileDiscovery(file, spec, conversion, variable) }
      : { token: await tokenDiscovery(discovery.get('bootstrapToken'), spec.resolved, conversion, variable) },
    tlsBootstrapToken: tlsToken === undefined ? undefined : conversion.secrets.value('tlsBootstrapToken', tlsToken),
    caCertPath: nonEmpty(spec.join.get('caCertPath')),
  };
}

async function tokenDiscovery(
  source: Source,
  resolved: boolean,
  conversion: Conversion,
  variable: Variable,
): Promise<NonNullable<Discovery['token']>> {
  const { secrets, options, report } = conversion;
  const token = nonEmpty(source.get('token'));
  const hashes = someTexts(source.get('caCertHashes')) ?? (options.caCertHashes && [...options.caCertHashes]);
  const unsafe = source.get('unsafeSkipCAVerification').flag();
  const authority = clusterAuthority(conversion);
  const known = hashes ?? (authority === undefined ? undefined : listOf(await caCertHash(authority)));
  const trusts = unsafe === true && known === undefined;
  if (unsafe === true && !trusts) {
    report.add('WithoutEffect', source.get('unsafeSkipCAVerification'), 'the CA is verified by its hash');
  }
  return {
    token:
      token === undefined
        ? secrets.reference(JOIN_TOKEN, source, 'the bootstrap token, which lives for minutes,')
        : secrets.value('joinToken', token),
    endpoint: endpointOf(source.get('apiServerEndpoint'), conversion, variable),
    caCertHashes:
      known ?? (trusts || resolved ? undefined : [variable('ca-cert-hash', "the hash of the cluster's CA")]),
    unsafeSkipCAVerification: trusts ? true : undefined,
  };
}

function listOf(hash: string | undefined): string[] | undefined {
  return hash === undefined ? undefined : [hash];
}

function endpointOf(source: Source, conversion: Conversion, variable: Variable): string {
  const { options, related, report } = conversion;
  const own = nonEmpty(source);
  if (own !== undefined) return withPort(own, source, conversion);
  const known = options.endpoint ?? related.endpoint;
  if (known === undefined) return variable('endpoint', 'the endpoint of the API server');
  report.add('ClusterValue', source, known);
  return withPort(known, source, conversion);
}

function fileDiscovery(file: Source, spec: Spec, conversion: Conversion, variable: Variable): FileDiscovery {
  const path = nonEmpty(file.get('kubeConfigPath'));
  if (spec.discoveryKubeconfig !== undefined) {
    return { path, kubeconfig: writtenKubeconfig(spec.discoveryKubeconfig, conversion) };
  }
  const kubeConfig = file.get('kubeConfig');
  // Without one the file is provided otherwise: as a file of the document, or in the image.
  return kubeConfig.exists ? { path, kubeconfig: declaredKubeconfig(kubeConfig, conversion, variable) } : { path };
}

/** `discovery.file.kubeConfig`; the provider sets server and authority. */
function declaredKubeconfig(source: Source, conversion: Conversion, variable: Variable): Kubeconfig {
  const cluster = source.get('cluster');
  const server = nonEmpty(cluster.get('server'));
  const insecure = cluster.get('insecureSkipTLSVerify').flag() === true;
  const data = nonEmpty(cluster.get('certificateAuthorityData'));
  if (insecure && data !== undefined) {
    conversion.report.add(
      'InputInvalid',
      cluster,
      'insecureSkipTLSVerify and certificateAuthorityData exclude each other',
    );
  }
  const authority = data === undefined ? clusterAuthority(conversion) : pemOf(data, cluster, conversion);
  return {
    server: server ?? `https://${endpointOf(cluster.get('server'), conversion, variable)}`,
    tlsServerName: nonEmpty(cluster.get('tlsServerName')),
    insecureSkipTLSVerify: insecure ? true : undefined,
    certificateAuthority: insecure ? undefined : (authority ?? variable('ca.crt', "the cluster's CA")),
    proxyURL: nonEmpty(cluster.get('proxyURL')),
    user: userOf(source.get('user'), conversion),
  };
}

/** The kubeconfig that the provider wrote into the user data. */
function writtenKubeconfig(source: Source, conversion: Conversion): Kubeconfig {
  const { cluster, user } = currentContext(source);
  const data = nonEmpty(cluster.get('certificate-authority-data'));
  return {
    server: cluster.get('server').text() ?? '',
    tlsServerName: nonEmpty(cluster.get('tls-server-name')),
    insecureSkipTLSVerify: cluster.get('insecure-skip-tls-verify').flag() === true ? true : undefined,
    certificateAuthority: data === undefined ? undefined : pemOf(data, cluster, conversion),
    proxyURL: nonEmpty(cluster.get('proxy-url')),
    user: userOf(user, conversion),
  };
}

/** The cluster and the user of the current context, as kubeadm uses them; without a context the first ones. */
function currentContext(source: Source): { readonly cluster: Source; readonly user: Source } {
  for (const header of ['apiVersion', 'kind']) source.get(header).drop('TypeMeta');
  // Known, and empty as Go writes it: its content is reported.
  source.get('preferences');
  const named = (list: string, name: string | undefined): Source => {
    const entries = source.get(list).items();
    const index = entries.findIndex((entry) => name === undefined || entry.get('name').text() === name);
    return source.get(list, Math.max(index, 0));
  };
  const context = named('contexts', source.get('current-context').text());
  const entries = (['cluster', 'user'] as const).map((what) => {
    const name = context.get('context', what);
    const entry = named(`${what}s`, nonEmpty(name));
    for (const part of [name, entry.get('name')]) part.drop('KubeconfigNames');
    return entry.get(what);
  });
  for (const part of [source.get('current-context'), context.get('name')]) part.drop('KubeconfigNames');
  const [cluster = source, user = source] = entries;
  return { cluster, user };
}

function pemOf(data: string, at: Source, { report }: Conversion): string | undefined {
  const bytes = fromBase64(data);
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  if (text === undefined) report.add('InputInvalid', at, 'the certificate authority is not base64 of PEM');
  return text;
}

function userOf(user: Source, { report, secrets }: Conversion): Kubeconfig['user'] {
  const provider = user.get('authProvider');
  if (provider.exists) {
    provider.whole();
    report.add('AuthProviderRefused', provider, 'use exec with a credential plugin');
  }
  const token = nonEmpty(user.get('token'));
  if (token !== undefined) return { token: secrets.value('discoveryToken', token) };
  const exec = user.get('exec');
  if (!exec.exists) return undefined;
  exec.get('interactiveMode').drop('NeverInteractive');
  const env = exec
    .get('env')
    .items()
    .map((item) => ({ name: item.get('name').text() ?? '', value: item.get('value').text() ?? '' }));
  return {
    exec: {
      command: exec.get('command').text() ?? '',
      args: someTexts(exec.get('args')),
      env: env.length === 0 ? undefined : env,
      apiVersion: pluginVersion(exec.get('apiVersion'), report),
      provideClusterInfo: exec.get('provideClusterInfo').flag(),
    },
  };
}

type PluginVersion = 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';

function pluginVersion(source: Source, report: Conversion['report']): PluginVersion | undefined {
  const text = nonEmpty(source);
  if (text === undefined) return undefined;
  if (text === 'client.authentication.k8s.io/v1' || text === 'client.authentication.k8s.io/v1beta1') return text;
  report.add('InputInvalid', source, 'expected client.authentication.k8s.io/v1 or v1beta1');
  return undefined;
}
