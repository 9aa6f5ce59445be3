import { FEATURES, has } from '@machineadm/document/kubernetes-releases/features.ts';
import type {
  DiscoveryKubeconfig,
  DiscoveryUser,
  FileDiscovery,
  JoinModel,
  TokenDiscovery,
} from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type Fields, listOrNothing } from './fields.ts';
import type { RenderedFile } from './patches.ts';
import type { Problems } from './problems.ts';
import type { KubeadmTarget } from './version.ts';
import { writeDocument } from './yaml.ts';

/** It may hold a token. */
const KUBECONFIG_MODE = 0o600;

/** `discovery` of JoinConfiguration without the fields that both kinds share. */
export function discoveryFields(discovery: JoinModel['discovery'], secrets: (value: SecretValue) => string): Fields {
  return 'path' in discovery
    ? { file: { kubeConfigPath: discovery.path } }
    : { bootstrapToken: token(discovery, secrets) };
}

function token(discovery: TokenDiscovery, secrets: (value: SecretValue) => string): Fields {
  return omitUndefined({
    token: secrets(discovery.token),
    apiServerEndpoint: discovery.endpoint,
    caCertHashes: listOrNothing(discovery.caCertHashes),
    unsafeSkipCAVerification: discovery.unsafeSkipCAVerification ? true : undefined,
  });
}

/** The kubeconfig that discovery by file reads, where the document says what is in it. */
export function discoveryFiles(
  discovery: JoinModel['discovery'],
  secrets: (value: SecretValue) => string,
  target: KubeadmTarget,
  problems: Problems,
): readonly RenderedFile[] {
  if (!('path' in discovery) || discovery.kubeconfig === undefined) return [];
  return [kubeconfigFile(discovery, discovery.kubeconfig, secrets, target, problems)];
}

/** In the names that Cluster API gives them (cluster-api bootstrap/kubeadm/internal/controllers, `default`). */
function kubeconfigFile(
  { path }: FileDiscovery,
  kubeconfig: DiscoveryKubeconfig,
  secrets: (value: SecretValue) => string,
  target: KubeadmTarget,
  problems: Problems,
): RenderedFile {
  const name = 'default';
  const user = userFields(kubeconfig.user, secrets, target, problems);
  const authority = kubeconfig.certificateAuthority;
  const content = writeDocument({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: omitUndefined({
          server: kubeconfig.server,
          'tls-server-name': kubeconfig.tlsServerName,
          'insecure-skip-tls-verify': kubeconfig.insecureSkipTLSVerify ? true : undefined,
          'certificate-authority-data': authority === undefined ? undefined : base64(authority),
          'proxy-url': kubeconfig.proxyURL,
        }),
      },
    ],
    contexts: [{ name, context: omitUndefined({ cluster: name, user: user === undefined ? undefined : name }) }],
    'current-context': name,
    users: user === undefined ? [] : [{ name, user }],
  });
  return { path, content, mode: KUBECONFIG_MODE };
}

function userFields(
  user: DiscoveryUser,
  secrets: (value: SecretValue) => string,
  target: KubeadmTarget,
  problems: Problems,
): Fields | undefined {
  if (user.kind === 'none') return undefined;
  if (user.kind === 'token') return { token: secrets(user.token) };
  const { command, args, env, apiVersion, provideClusterInfo } = user;
  const isNew = has('credentialPluginsV1', target.minor);
  if (!isNew && apiVersion.endsWith('/v1')) {
    problems.add({
      field: 'kubernetes.join.discovery.file.kubeconfig.user.exec.apiVersion',
      problem: `kubeadm before 1.${FEATURES.credentialPluginsV1.since} knows client.authentication.k8s.io/v1beta1 only`,
      remedy:
        'Set kubernetes.join.discovery.file.kubeconfig.user.exec.apiVersion to client.authentication.k8s.io/v1beta1.',
    });
  }
  return {
    exec: omitUndefined({
      apiVersion,
      command,
      args: listOrNothing(args),
      env: listOrNothing(env.map(({ name, value }) => ({ name, value }))),
      // It came with v1; nobody is there to be asked (k/k#99310).
      interactiveMode: isNew ? 'Never' : undefined,
      provideClusterInfo,
    }),
  };
}

/** Of UTF-8 text; without Node's Buffer, as rendering runs in a browser, too. */
function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}
