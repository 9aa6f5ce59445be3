import type { Finding } from '../../diagnostics/index.ts';
import { certificatePem, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import { atLeastOne, exactlyOne, given, has, is, not, when, without } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object, oneOf } from '../../fields/field.ts';
import { absolutePath, environmentVariable, hostPort, secret, url } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import type { EnvironmentVariable } from '../component.ts';

/** `kubernetes.join`: how a machine finds its cluster, and how both prove who they are. */

const token = object({
  token: field(secret, 'The bootstrap token.', { example: { secret: 'joinToken' } }),
  endpoint: field(hostPort, 'The address of the API server, as host:port.', { example: 'api.prod-a.example:6443' }),
  caCertHashes: field(
    z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/, 'not a CA hash: "sha256:" and 64 hex digits')),
    "The hashes of the public key of the cluster's authority. Required unless unsafeSkipCAVerification is set.",
    { default: [], example: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] },
  ),
  unsafeSkipCAVerification: field(
    z.boolean(),
    'Joins without verifying the cluster. Anyone on the network path can take over the node. Excludes caCertHashes.',
    { default: false, example: true },
  ),
});

const user = oneOf(
  {
    exec: field(
      object({
        command: field(z.string().min(1), 'The program.', { example: 'aws-iam-authenticator' }),
        args: field(z.array(z.string()), 'Arguments of the program.', {
          default: [],
          example: ['token', '-i', 'prod-a'],
        }),
        env: field(z.array(environmentVariable), 'Environment variables of the program.', {
          default: [],
          example: [{ name: 'AWS_PROFILE', value: 'nodes' }],
        }),
        apiVersion: field(
          choice({
            'client.authentication.k8s.io/v1': 'The current version.',
            'client.authentication.k8s.io/v1beta1': 'For plug-ins that do not know v1.',
          }),
          'The version of the plug-in protocol.',
          { default: 'client.authentication.k8s.io/v1', example: 'client.authentication.k8s.io/v1beta1' },
        ),
        provideClusterInfo: field(
          z.boolean(),
          'Whether the program gets the address and the authority of the cluster.',
          { default: false, example: true },
        ),
      }),
      'A credential plug-in of client-go.',
      { example: { command: 'aws-iam-authenticator', args: ['token', '-i', 'prod-a'] } },
    ),
    token: field(secret, 'A bearer token.', { example: { secret: 'joinToken' } }),
  },
  'expected {exec: {command, …}} or {token}',
);

const kubeconfig = object(
  {
    server: field(url('https', 'not an https URL, such as https://api.example:6443'), 'The URL of the API server.', {
      example: 'https://api.prod-a.example:6443',
    }),
    tlsServerName: field(z.string().min(1), 'The name that the certificate of the server must have.', {
      absent: 'the host of server',
      example: 'kubernetes',
    }),
    insecureSkipTLSVerify: field(z.boolean(), 'Accepts any certificate of the server. Excludes certificateAuthority.', {
      default: false,
      example: true,
    }),
    certificateAuthority: field(certificatePem, 'The authority of the cluster in PEM form.', {
      absent: 'the one in the ConfigMap cluster-info',
      example: EXAMPLE_CERTIFICATE,
    }),
    proxyURL: field(url('proxy', 'not an http, https or socks5 URL'), 'A proxy for the connection to the API server.', {
      absent: 'no proxy',
      example: 'http://proxy.example:3128',
    }),
    user: field(user, 'How the machine proves its identity.', {
      absent: 'join.tlsBootstrapToken is the proof',
      example: { token: { secret: 'joinToken' } },
    }),
  },
  () => [when(is('insecureSkipTLSVerify', true), without('certificateAuthority'))],
);

const file = object(
  {
    path: field(absolutePath, 'The path of the file.', {
      default: '/run/kubeadm/discovery.conf',
      example: '/etc/kubernetes/discovery.conf',
    }),
    kubeconfig: field(kubeconfig, 'The content that machineadm writes to the file.', {
      absent: 'something else writes the file',
      example: { server: 'https://api.prod-a.example:6443', user: { token: { secret: 'joinToken' } } },
    }),
  },
  () => [atLeastOne('kubeconfig', 'path')],
);

export const join = object(
  {
    discovery: field(
      object(
        {
          token: field(token, 'Discovery with a bootstrap token. Excludes file.', {
            absent: 'file is used',
            example: {
              token: { secret: 'joinToken' },
              endpoint: 'api.prod-a.example:6443',
              caCertHashes: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
            },
          }),
          file: field(file, 'Discovery with a kubeconfig file. Excludes token.', {
            absent: 'token is used',
            example: {
              kubeconfig: { server: 'https://api.prod-a.example:6443', user: { token: { secret: 'joinToken' } } },
            },
          }),
        },
        () => [exactlyOne('token', 'file')],
      ),
      'How the cluster is found and verified, by token or by file.',
      {
        example: {
          token: {
            token: { secret: 'joinToken' },
            endpoint: 'api.prod-a.example:6443',
            caCertHashes: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
          },
        },
      },
    ),
    tlsBootstrapToken: field(secret, 'The token with which the kubelet asks for its certificate.', {
      absent: 'the credential of the discovery',
      example: { secret: 'joinToken' },
    }),
    caCertPath: field(absolutePath, "The file to which the certificate of the cluster's authority is written.", {
      default: '/etc/kubernetes/pki/ca.crt',
      example: '/etc/kubernetes/pki/ca.crt',
    }),
  },
  () => [when(given('discovery.file.kubeconfig', not(has('user'))), has('tlsBootstrapToken'))],
);

export type JoinSection = z.infer<typeof join>;

export interface JoinModel {
  readonly discovery: TokenDiscovery | FileDiscovery;
  readonly tlsBootstrapToken: SecretValue | undefined;
  readonly caCertPath: string;
}

export interface TokenDiscovery {
  readonly token: SecretValue;
  /** host:port of the API server. */
  readonly endpoint: string;
  /** `sha256:<hex>` each. */
  readonly caCertHashes: readonly string[];
  readonly unsafeSkipCAVerification: boolean;
}

export interface FileDiscovery {
  /** Where kubeadm reads a kubeconfig. */
  readonly path: string;
  /** Written to `path` before; undefined = something else puts it there. */
  readonly kubeconfig: DiscoveryKubeconfig | undefined;
  /** host:port of the API server, where the document names it. */
  readonly endpoint: string | undefined;
}

/** How a joining machine finds its cluster, and its credentials. */
export interface DiscoveryKubeconfig {
  /** `https://api.example:6443` */
  readonly server: string;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTLSVerify: boolean;
  /** PEM; undefined = the system's authorities. */
  readonly certificateAuthority: string | undefined;
  readonly proxyURL: string | undefined;
  readonly user: DiscoveryUser;
}

export type DiscoveryUser =
  | {
      readonly kind: 'exec';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly EnvironmentVariable[];
      /** `client.authentication.k8s.io/v1` */
      readonly apiVersion: string;
      readonly provideClusterInfo: boolean;
    }
  | { readonly kind: 'token'; readonly token: SecretValue }
  /** Nothing but the way to the cluster: the TLS bootstrap token proves who asks. */
  | { readonly kind: 'none' };

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

const DISCOVERY = ['kubernetes', 'join', 'discovery'];

/** By token or by file; and a file says something. */
export function checkDiscoveryForm(join: JoinSection | undefined): Finding[] {
  if (join === undefined) return [];
  const { token, file } = join.discovery;
  if (token !== undefined && file !== undefined) {
    return [{ path: DISCOVERY, message: 'token and file exclude each other', hint: 'keep one of them' }];
  }
  if (token === undefined && file === undefined) {
    const hint = 'token: {token, endpoint, caCertHashes}, or file: {kubeconfig: {server, user}}';
    const about = ['token', 'file'].map((name) => [...DISCOVERY, name]);
    return [{ path: DISCOVERY, message: 'neither token nor file is given', hint, about }];
  }
  if (file === undefined) return [];
  const path = [...DISCOVERY, 'file'];
  if (file.kubeconfig === undefined && file.path === undefined) {
    const about = ['kubeconfig', 'path'].map((name) => [...path, name]);
    return [{ path, message: 'neither kubeconfig nor the path of one is given', about }];
  }
  const { kubeconfig } = file;
  if (kubeconfig === undefined) return [];
  if (kubeconfig.insecureSkipTLSVerify === true && kubeconfig.certificateAuthority !== undefined) {
    const message = 'certificateAuthority and insecureSkipTLSVerify exclude each other';
    return [{ path: [...path, 'kubeconfig'], message, hint: 'keep the authority' }];
  }
  if (kubeconfig.user === undefined && join.tlsBootstrapToken === undefined) {
    return [
      {
        path: [...path, 'kubeconfig'],
        message: 'the machine cannot prove who it is: neither user nor join.tlsBootstrapToken is given',
        about: [
          [...path, 'kubeconfig', 'user'],
          ['kubernetes', 'join', 'tlsBootstrapToken'],
        ],
      },
    ];
  }
  return [];
}

export function checkVerification(join: JoinSection | undefined): Finding[] {
  const token = join?.discovery.token;
  if (token === undefined) return [];
  const { caCertHashes, unsafeSkipCAVerification } = token;
  const path = [...DISCOVERY, 'token'];
  const hasHashes = (caCertHashes ?? []).length > 0;
  if (hasHashes && unsafeSkipCAVerification === true) {
    return [{ path, message: 'caCertHashes and unsafeSkipCAVerification exclude each other', hint: 'keep the hashes' }];
  }
  if (!hasHashes && unsafeSkipCAVerification !== true) {
    return [
      {
        path,
        message: 'the cluster cannot be verified: no caCertHashes',
        hint: "openssl x509 -pubkey -in ca.crt | openssl rsa -pubin -outform der | sha256sum gives the CA's",
      },
    ];
  }
  return [];
}
