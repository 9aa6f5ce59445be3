/** k/k staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go: what a kubelet may say of itself in the reserved domains. */
const KUBELET_LABELS = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];
const KUBELET_DOMAINS = /^(?:.+\.)?(?:kubelet|node)\.kubernetes\.io$/;
const RESERVED_DOMAINS = /^(?:.+\.)?(?:kubernetes|k8s)\.io$/;

/** Whether no kubelet starts with this label in `--node-labels` (k/k cmd/kubelet/app/options/options.go, ValidateKubeletFlags). */
export function refusedByKubelet(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  return RESERVED_DOMAINS.test(domain) && !KUBELET_DOMAINS.test(domain) && !KUBELET_LABELS.includes(key);
}
