import type { MinorWindow } from './minor.ts';

interface ConfigurationVersion extends MinorWindow {
  /** Of an API version that is read before `since` already where the user asks for it. */
  readonly name: string;
  readonly source: string;
}

export interface Configuration {
  readonly group: string;
  /** Oldest first; each is used from its `since` to that of the next one. */
  readonly versions: readonly [ConfigurationVersion, ...ConfigurationVersion[]];
}

const TYPES = 'https://github.com/kubernetes/kubernetes/tree/master';
const API_SERVER = `${TYPES}/staging/src/k8s.io/apiserver/pkg/apis`;

/**
 * The API versions of configuration files. `since`: the first minor that uses the version without a feature gate, or with
 * its own gate where there was none before. `until`: the last minor that reads it.
 */
export const CONFIGURATIONS = {
  /** kubeadm's own kinds. v1beta4 is in 1.27 to 1.30 as well, but refused there. */
  kubeadm: {
    group: 'kubeadm.k8s.io',
    versions: [
      { name: 'v1beta2', until: 26, source: `${TYPES}/cmd/kubeadm/app/util/config/common.go` },
      { name: 'v1beta3', since: 22, until: 36, source: 'k/k#136016' },
      { name: 'v1beta4', since: 31, source: 'k/k#125029' },
    ],
  },
  KubeletConfiguration: {
    group: 'kubelet.config.k8s.io',
    versions: [{ name: 'v1beta1', source: `${TYPES}/staging/src/k8s.io/kubelet/config/v1beta1` }],
  },
  KubeProxyConfiguration: {
    group: 'kubeproxy.config.k8s.io',
    versions: [{ name: 'v1alpha1', source: `${TYPES}/staging/src/k8s.io/kube-proxy/config/v1alpha1` }],
  },
  AdmissionConfiguration: {
    group: 'apiserver.config.k8s.io',
    versions: [{ name: 'v1', source: `${API_SERVER}/apiserver/v1` }],
  },
  AuthenticationConfiguration: {
    group: 'apiserver.config.k8s.io',
    versions: [
      { name: 'v1alpha1', since: 29, source: 'KEP-3331' },
      { name: 'v1beta1', since: 30, source: 'KEP-3331' },
      { name: 'v1', since: 34, source: 'KEP-3331' },
    ],
  },
  AuthorizationConfiguration: {
    group: 'apiserver.config.k8s.io',
    versions: [
      { name: 'v1beta1', since: 30, source: 'KEP-3221' },
      { name: 'v1', since: 32, source: 'KEP-3221' },
    ],
  },
  EncryptionConfiguration: {
    group: 'apiserver.config.k8s.io',
    versions: [{ name: 'v1', source: `${API_SERVER}/apiserver/v1` }],
  },
  /** The audit policy. */
  Policy: { group: 'audit.k8s.io', versions: [{ name: 'v1', source: `${API_SERVER}/audit/v1` }] },
  PodSecurityConfiguration: {
    group: 'pod-security.admission.config.k8s.io',
    versions: [
      { name: 'v1alpha1', since: 22, source: 'KEP-2579' },
      { name: 'v1beta1', since: 23, source: 'KEP-2579' },
      { name: 'v1', since: 25, source: 'KEP-2579' },
    ],
  },
} as const satisfies Readonly<Record<string, Configuration>>;

/** The first two lines of a configuration file for a minor. A minor from before the kind gets the oldest version. */
export function typeMeta(
  kind: Exclude<keyof typeof CONFIGURATIONS, 'kubeadm'>,
  minor: number,
): { readonly apiVersion: string; readonly kind: string } {
  const { group, versions }: Configuration = CONFIGURATIONS[kind];
  const { name } = versions.findLast(({ since = 0 }) => since <= minor) ?? versions[0];
  return { apiVersion: `${group}/${name}`, kind };
}
