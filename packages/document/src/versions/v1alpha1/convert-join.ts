import type { DiscoveryUser, FileDiscovery, JoinModel } from '../../model.ts';
import type { ResolveSecret } from './convert-values.ts';
import type { JoinSection } from './join.ts';

const DEFAULT_DISCOVERY_FILE = '/run/kubeadm/discovery.conf';
const DEFAULT_CA_CERTIFICATE = '/etc/kubernetes/pki/ca.crt';
const DEFAULT_EXEC_API_VERSION = 'client.authentication.k8s.io/v1';
const HTTPS_PORT = '443';

export function toJoin(section: JoinSection | undefined, resolve: ResolveSecret): JoinModel | undefined {
  if (section === undefined) return undefined;
  const tlsToken = section.tlsBootstrapToken;
  return {
    discovery: toDiscovery(section.discovery, resolve),
    tlsBootstrapToken: tlsToken === undefined ? undefined : resolve(tlsToken, 'kubernetes.join.tlsBootstrapToken'),
    caCertPath: section.caCertPath ?? DEFAULT_CA_CERTIFICATE,
  };
}

function toDiscovery({ token, file }: JoinSection['discovery'], resolve: ResolveSecret): JoinModel['discovery'] {
  if (token === undefined) return toFileDiscovery(file ?? {}, resolve);
  return {
    token: resolve(token.token, 'kubernetes.join.discovery.token.token'),
    endpoint: token.endpoint,
    caCertHashes: token.caCertHashes ?? [],
    unsafeSkipCAVerification: token.unsafeSkipCAVerification ?? false,
  };
}

type FileSection = NonNullable<JoinSection['discovery']['file']>;

function toFileDiscovery({ path, kubeconfig }: FileSection, resolve: ResolveSecret): FileDiscovery {
  const server = kubeconfig === undefined ? undefined : new URL(kubeconfig.server);
  return {
    path: path ?? DEFAULT_DISCOVERY_FILE,
    endpoint: server === undefined ? undefined : `${server.hostname}:${server.port || HTTPS_PORT}`,
    kubeconfig:
      kubeconfig === undefined
        ? undefined
        : {
            server: kubeconfig.server,
            tlsServerName: kubeconfig.tlsServerName,
            insecureSkipTLSVerify: kubeconfig.insecureSkipTLSVerify ?? false,
            certificateAuthority: kubeconfig.certificateAuthority,
            proxyURL: kubeconfig.proxyURL,
            user: toUser(kubeconfig.user, resolve),
          },
  };
}

function toUser(user: NonNullable<FileSection['kubeconfig']>['user'], resolve: ResolveSecret): DiscoveryUser {
  if (user === undefined) return { kind: 'none' };
  if ('token' in user) {
    return { kind: 'token', token: resolve(user.token, 'kubernetes.join.discovery.file.kubeconfig.user.token') };
  }
  const { command, args, env, apiVersion, provideClusterInfo } = user.exec;
  return {
    kind: 'exec',
    command,
    args: args ?? [],
    env: env ?? [],
    apiVersion: apiVersion ?? DEFAULT_EXEC_API_VERSION,
    provideClusterInfo: provideClusterInfo ?? false,
  };
}
