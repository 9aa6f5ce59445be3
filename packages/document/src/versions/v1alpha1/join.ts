import * as z from 'zod';
import { field, object } from '../../sections/field.ts';
import {
  absolutePath,
  certificatePem,
  EXAMPLE_CERTIFICATE,
  environmentVariable,
  hostPort,
  secret,
  url,
} from './fields.ts';

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
    'Joins without proof that the cluster is the right one. Anybody on the network path can take over the node. Excludes caCertHashes.',
    { default: false, example: true },
  ),
});

const user = z.union(
  [
    object({
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
            z.enum(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1']),
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
    }),
    object({ token: field(secret, 'A bearer token.', { example: { secret: 'joinToken' } }) }),
  ],
  { error: 'expected {exec: {command, …}} or {token}' },
);

const kubeconfig = object({
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
    absent: 'that of the cluster-info ConfigMap',
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
});

const file = object({
  path: field(absolutePath, 'The path of the file.', {
    default: '/run/kubeadm/discovery.conf',
    example: '/etc/kubernetes/discovery.conf',
  }),
  kubeconfig: field(kubeconfig, 'The content that machineadm writes to the file.', {
    absent: 'something else writes the file',
    example: { server: 'https://api.prod-a.example:6443', user: { token: { secret: 'joinToken' } } },
  }),
});

export const join = object({
  discovery: field(
    object({
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
    }),
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
});

export type JoinSection = z.infer<typeof join>;
