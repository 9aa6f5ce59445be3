import {
  KUBELET_CONFIG,
  KUBELET_FLAGS_ENVIRONMENT,
  KUBELET_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import {
  AUDIT_POLICY_FILE,
  argument,
  BY_KUBEADM,
  CIPHERS,
  CLUSTER_CA,
  cis,
  featureGate,
  KUBELET_UNIT,
  kubelet,
  mode,
  notApplicableOnNode,
  ownedByRoot,
  SERVING_CERTIFICATES,
  STRONG_CIPHERS,
} from './build.ts';
import { type Control, RULES } from './control.ts';

/**
 * CIS Kubernetes Benchmark v1.12, sections 2, 3 and 4: etcd, what the control plane is configured for, and the nodes. Checks
 * as in kube-bench cfg/cis-1.12/{etcd,controlplane,node}.yaml.
 */
export const CIS_NODE: readonly Control[] = [
  cis(
    'cis-2.1',
    1,
    'etcd',
    argument(
      'etcd',
      { 'cert-file': '/etc/kubernetes/pki/etcd/server.crt', 'key-file': '/etc/kubernetes/pki/etcd/server.key' },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis('cis-2.2', 1, 'etcd', argument('etcd', { 'client-cert-auth': 'true' }, RULES.is('true')), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-2.3', 1, 'etcd', argument('etcd', { 'auto-tls': 'false' }, RULES.isNot('true')), BY_KUBEADM),
  cis(
    'cis-2.4',
    1,
    'etcd',
    argument(
      'etcd',
      { 'peer-cert-file': '/etc/kubernetes/pki/etcd/peer.crt', 'peer-key-file': '/etc/kubernetes/pki/etcd/peer.key' },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis('cis-2.5', 1, 'etcd', argument('etcd', { 'peer-client-cert-auth': 'true' }, RULES.is('true')), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-2.6', 1, 'etcd', argument('etcd', { 'peer-auto-tls': 'false' }, RULES.isNot('true')), {
    kubeadmLeavesIt: true,
  }),
  cis(
    'cis-2.7',
    2,
    'etcd',
    argument('etcd', { 'trusted-ca-file': '/etc/kubernetes/pki/etcd/ca.crt' }, RULES.setButNot(CLUSTER_CA)),
    BY_KUBEADM,
  ),
  cis('cis-3.1.1', 2, 'cluster', notApplicableOnNode('whether people sign in with client certificates')),
  cis('cis-3.1.2', 1, 'cluster', notApplicableOnNode('whether people sign in with tokens of service accounts')),
  cis('cis-3.1.3', 1, 'cluster', notApplicableOnNode('whether people sign in with bootstrap tokens')),
  cis('cis-3.2.1', 1, 'control-plane', AUDIT_POLICY_FILE),
  cis('cis-3.2.2', 2, 'control-plane', { kind: 'audit-policy', covers: 'key-concerns' }),
  cis('cis-4.1.1', 1, 'node', mode(KUBELET_UNIT, 0o600)),
  cis('cis-4.1.2', 1, 'node', ownedByRoot(KUBELET_UNIT), BY_KUBEADM),
  cis('cis-4.1.3', 1, 'node', notApplicableOnNode('the kubeconfig of kube-proxy, which kubeadm keeps in a ConfigMap')),
  cis('cis-4.1.4', 1, 'node', notApplicableOnNode('the kubeconfig of kube-proxy, which kubeadm keeps in a ConfigMap')),
  cis('cis-4.1.5', 1, 'node', mode([KUBELET_KUBECONFIG], 0o600), BY_KUBEADM),
  cis('cis-4.1.6', 1, 'node', ownedByRoot([KUBELET_KUBECONFIG]), BY_KUBEADM),
  cis('cis-4.1.7', 1, 'node', mode([CLUSTER_CA], 0o644), BY_KUBEADM),
  cis('cis-4.1.8', 1, 'node', ownedByRoot([CLUSTER_CA]), BY_KUBEADM),
  cis(
    'cis-4.1.9',
    1,
    'node',
    mode([KUBELET_CONFIG, '/var/lib/kubelet/instance-config.yaml', KUBELET_FLAGS_ENVIRONMENT], 0o600),
  ),
  cis('cis-4.1.10', 1, 'node', ownedByRoot([KUBELET_CONFIG]), BY_KUBEADM),
  cis('cis-4.2.1', 1, 'node', kubelet('authentication.anonymous.enabled', 'anonymous-auth', RULES.is('false'), false), {
    kubeadmLeavesIt: true,
  }),
  cis(
    'cis-4.2.2',
    1,
    'node',
    kubelet('authorization.mode', 'authorization-mode', RULES.setButNot('AlwaysAllow'), 'Webhook'),
    BY_KUBEADM,
  ),
  cis('cis-4.2.3', 1, 'node', kubelet('authentication.x509.clientCAFile', 'client-ca-file', RULES.set, CLUSTER_CA), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-4.2.4', 1, 'node', kubelet('readOnlyPort', 'read-only-port', RULES.isOrUnset('0'), 0), {
    kubeadmLeavesIt: true,
  }),
  cis(
    'cis-4.2.5',
    1,
    'node',
    kubelet('streamingConnectionIdleTimeout', 'streaming-connection-idle-timeout', RULES.isNot('0'), '5m0s'),
    BY_KUBEADM,
  ),
  cis(
    'cis-4.2.6',
    1,
    'node',
    kubelet('makeIPTablesUtilChains', 'make-iptables-util-chains', RULES.isOrUnset('true'), true),
    BY_KUBEADM,
  ),
  cis('cis-4.2.7', 1, 'node', { kind: 'kubelet-flag-absent', flag: 'hostname-override' }, BY_KUBEADM),
  cis('cis-4.2.8', 2, 'node', kubelet('eventRecordQPS', 'event-qps', RULES.atLeastOrUnset(0), 50), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-4.2.9', 1, 'node', { kind: 'kubelet-serving-certificate' }, { off: SERVING_CERTIFICATES }),
  cis('cis-4.2.10', 1, 'node', kubelet('rotateCertificates', 'rotate-certificates', RULES.isNot('false'), true), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-4.2.11', 1, 'node', featureGate('RotateKubeletServerCertificate', 'false', ['kubelet']), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-4.2.12', 1, 'node', kubelet('tlsCipherSuites', 'tls-cipher-suites', RULES.onlyOf(STRONG_CIPHERS), CIPHERS)),
  cis('cis-4.2.13', 1, 'node', kubelet('podPidsLimit', 'pod-max-pids', RULES.atLeast(1), 4096)),
  cis('cis-4.2.14', 1, 'node', kubelet('seccompDefault', 'seccomp-default', RULES.is('true'), true), { since: 25 }),
  cis('cis-4.3.1', 1, 'node', { kind: 'kube-proxy-metrics' }, BY_KUBEADM),
];
