import type { Finding } from '../../diagnostics/index.ts';
import { exclusive } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { absolutePath, cidr, dnsSubdomain, duration, hostPort, imageRepository, secret } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';

export interface ClusterModel {
  readonly name: string | undefined;
  /** host:port */
  readonly controlPlaneEndpoint: string | undefined;
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly dnsDomain: string | undefined;
  readonly imageRepository: string | undefined;
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly certificatesDirectory: string;
  readonly certificateValidityMs: number | undefined;
  readonly caCertificateValidityMs: number | undefined;
  readonly encryptionAlgorithm: 'RSA-2048' | 'RSA-3072' | 'RSA-4096' | 'ECDSA-P256' | 'ECDSA-P384' | undefined;
  readonly bootstrapTokens: readonly BootstrapToken[];
}

export interface BootstrapToken {
  readonly token: SecretValue;
  readonly description: string | undefined;
  readonly ttlMs: number | undefined;
  /** RFC 3339; excludes ttl. */
  readonly expires: string | undefined;
  readonly usages: readonly string[];
  readonly groups: readonly string[];
}

/** k/k staging/src/k8s.io/cluster-bootstrap/token/api/types.go */
export const TOKEN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;

export const cluster = object({
  name: field(z.string().min(1), 'The name of the cluster.', {
    absent: 'the default of kubeadm, kubernetes',
    example: 'prod-a',
  }),
  controlPlaneEndpoint: field(hostPort, 'The stable address of the API servers, as host:port.', {
    absent: 'the address of this machine, which cannot be changed later',
    example: 'api.prod-a.example:6443',
  }),
  podSubnets: field(z.array(cidr), 'The subnets of pods, one of each IP family at most.', {
    default: [],
    example: ['10.244.0.0/16'],
  }),
  serviceSubnets: field(z.array(cidr), 'The subnets of services, one of each IP family at most.', {
    absent: 'the default of kubeadm, 10.96.0.0/12',
    example: ['10.96.0.0/12'],
  }),
  dnsDomain: field(dnsSubdomain, 'The DNS domain of services.', {
    absent: 'the default of kubeadm, cluster.local',
    example: 'cluster.local',
  }),
  imageRepository: field(imageRepository, 'The repository of the images of the control plane.', {
    absent: 'the default of kubeadm, registry.k8s.io',
    example: 'registry.example:5000/kubernetes',
  }),
  featureGates: field(
    z.record(z.string().regex(/^[A-Za-z0-9]+$/, 'not the name of a feature gate'), z.boolean()),
    'Feature gates of kubeadm itself. Those of the components are arguments or kubelet configuration.',
    { default: {}, example: { NodeLocalCRISocket: true } },
  ),
  certificatesDirectory: field(absolutePath, 'The directory with the certificates of the cluster.', {
    default: '/etc/kubernetes/pki',
    example: '/etc/kubernetes/pki',
  }),
  certificateValidity: field(duration, 'How long certificates are valid. Needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, 365 days',
    example: '365d',
  }),
  caCertificateValidity: field(duration, 'How long certificates of the authorities are valid. Needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, 3650 days',
    example: '3650d',
  }),
  encryptionAlgorithm: field(
    choice({
      'RSA-2048': 'RSA with 2048 bits.',
      'RSA-3072': 'RSA with 3072 bits.',
      'RSA-4096': 'RSA with 4096 bits.',
      'ECDSA-P256': 'ECDSA on the curve P-256.',
      'ECDSA-P384': 'ECDSA on the curve P-384. Needs a newer kubeadm.',
    }),
    'The algorithm of the keys that kubeadm creates.',
    { absent: 'the default of kubeadm, RSA-2048', example: 'ECDSA-P256' },
  ),
  bootstrapTokens: field(
    z.array(
      object(
        {
          token: field(secret, 'The token, 6 characters, a dot and 16 characters of a-z and 0-9.', {
            example: { secret: 'joinToken' },
          }),
          description: field(z.string(), 'What the token is for.', { absent: 'none', example: 'Workers of rack r12' }),
          ttl: field(duration, 'How long the token is valid. Excludes expires.', {
            absent: 'the default of kubeadm, 24h',
            example: '2h',
          }),
          expires: field(
            z.iso.datetime({ offset: true, error: 'not an RFC 3339 time' }),
            'The time at which the token expires (RFC 3339). kubeadm takes only ttl in its configuration. Excludes ttl.',
            { absent: 'the token expires after ttl', example: '2027-01-31T12:00:00Z' },
          ),
          usages: field(
            z.array(
              choice({
                signing: 'Signs the ConfigMap cluster-info, so that joining machines can trust it.',
                authentication: 'Authenticates a joining machine to the API server.',
              }),
            ),
            'What the token may be used for. kubeadm needs authentication among them.',
            { absent: 'both', example: ['signing', 'authentication'] },
          ),
          groups: field(
            z.array(z.string().regex(/^system:bootstrappers:[a-z0-9:-]+$/, 'not a bootstrap group')),
            'Groups that a machine with the token belongs to.',
            {
              absent: 'the default of kubeadm, system:bootstrappers:kubeadm:default-node-token',
              example: ['system:bootstrappers:kubeadm:default-node-token'],
            },
          ),
        },
        () => [exclusive('ttl', 'expires')],
      ),
    ),
    'Tokens with which other machines can join. Only when the cluster is created.',
    { absent: 'kubeadm creates one', example: [{ token: { secret: 'joinToken' }, ttl: '24h' }] },
  ),
});

type ClusterSection = z.infer<typeof cluster>;

export function toCluster(section: ClusterSection | undefined, resolve: ResolveSecret): ClusterModel {
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

/**
 * kubeadm fills in what is not given before it validates, in every version (k/k
 * cmd/kubeadm/app/apis/bootstraptoken/v1/defaults.go): a ttl stands beside every `expires`, and a group beside every
 * token, which is refused without the usage authentication.
 */
export function checkBootstrapTokens(cluster: ClusterSection | undefined): Finding[] {
  const findings: Finding[] = [];
  cluster?.bootstrapTokens?.forEach((token, index) => {
    const path = ['kubernetes', 'cluster', 'bootstrapTokens', index];
    // Together with a ttl, another check reports it.
    if (token.expires !== undefined && token.ttl === undefined) {
      const message = 'kubeadm takes only a time to live in its configuration';
      findings.push({ path: [...path, 'expires'], message, hint: 'write ttl, such as "24h"' });
    }
    if (token.usages !== undefined && token.usages.length > 0 && !token.usages.includes('authentication')) {
      const message = 'kubeadm gives every token a group, and refuses that without the usage authentication';
      findings.push({ path: [...path, 'usages'], message, hint: 'add authentication' });
    }
  });
  return findings;
}
