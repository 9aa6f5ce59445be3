import { includes, type MinorWindow } from './minor.ts';

interface Feature extends MinorWindow {
  /** Said of Kubernetes in a table: what the minors of the window have. */
  readonly what: string;
  /** Where it is written upstream, as in `sources.ts`. */
  readonly source: string;
}

/** A feature that needs its gate first. */
export interface GatedFeature extends Feature {
  readonly since: number;
  readonly gate: string;
  /** The first minor whose gate is on unless it is switched off. */
  readonly onSince: number;
}

/** What some minors have and others have not, one by one: fields, values, behaviour. */
export const FEATURES = {
  anonymousConditions: {
    since: 31,
    onSince: 32,
    gate: 'AnonymousAuthConfigurableEndpoints',
    what: '`anonymous` in an AuthenticationConfiguration',
    source: 'KEP-4633',
  },
  auditOmitManagedFields: { since: 23, what: '`omitManagedFields` in an audit policy', source: 'k/k#94986' },
  authorizationFileAlone: {
    since: 30,
    what: 'kubeadm without `--authorization-mode` beside an authorization configuration, which excludes it',
    source: 'k/k#123654',
  },
  cgroupV1: { until: 34, what: 'kubelets that run with cgroup v1 by default', source: 'k/k#134744' },
  corednsSubdirectory: {
    since: 21,
    what: "the image `coredns/coredns` instead of `coredns`, in the project's own registry only",
    source: 'k/k#102502',
  },
  credentialPluginsV1: { since: 22, what: '`client.authentication.k8s.io/v1` in a kubeconfig', source: 'k/k#102890' },
  dualStack: { since: 21, what: 'two address families without a feature gate', source: 'KEP-563' },
  ecdsaP384: { since: 34, what: 'the key algorithm ECDSA-P384', source: 'k/k#131677' },
  encryptWildcards: { since: 27, what: 'wildcards in the resources that are encrypted', source: 'k/k#115149' },
  etcdAPICallTimeout: { since: 32, what: '`timeouts.etcdAPICall`, which 1.31 ignores', source: 'k/k#129862' },
  etcdHTTPEndpoints: { since: 35, what: '`etcd.external.httpEndpoints`', source: 'k/k#134890' },
  issuerDiscoveryURL: { since: 30, what: '`issuer.discoveryURL` of a JWT authenticator', source: 'KEP-3331' },
  kmsV1: {
    until: 28,
    what: 'KMS v1 without its feature gate',
    source: 'https://kubernetes.io/docs/tasks/administer-cluster/kms-provider/',
  },
  kmsV2: { since: 27, what: 'KMS v2 without its feature gate', source: 'KEP-3299' },
  olderKubelets: {
    since: 29,
    what: 'kubelets of up to three minors before kubeadm, instead of one',
    source: 'https://github.com/kubernetes/kubernetes/blob/v1.29.0/cmd/kubeadm/app/constants/constants.go',
  },
  severalAudiences: { since: 30, what: 'several `issuer.audiences` of a JWT authenticator', source: 'k/k#123165' },
  signedPrograms: {
    since: 26,
    what: 'signatures of the programs of a release',
    source: 'https://kubernetes.io/docs/tasks/administer-cluster/verify-signed-artifacts/',
  },
  structuredAuthentication: {
    since: 29,
    onSince: 30,
    gate: 'StructuredAuthenticationConfiguration',
    what: 'an AuthenticationConfiguration',
    source: 'KEP-3331',
  },
  structuredAuthorization: {
    since: 30,
    what: 'an AuthorizationConfiguration without a feature gate',
    source: 'KEP-3221',
  },
  superAdminKubeconfig: { since: 29, what: '`super-admin.conf`', source: 'k/k#121305' },
  validateCommand: { since: 26, what: '`kubeadm config validate`', source: 'k/k#111341' },
} as const satisfies Readonly<Record<string, Feature | GatedFeature>>;

/** Whether a minor of 1.x has a feature; infinite stands for a later major. */
export function has(feature: keyof typeof FEATURES, minor: number): boolean {
  return includes(FEATURES[feature], minor);
}
