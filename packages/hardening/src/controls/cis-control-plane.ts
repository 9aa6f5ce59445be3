import {
  ADMIN_KUBECONFIG,
  CONTROLLER_MANAGER_KUBECONFIG,
  DEFAULT_CERTIFICATES_DIRECTORY,
  SCHEDULER_KUBECONFIG,
  STATIC_PODS_DIRECTORY,
  SUPER_ADMIN_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import {
  ANONYMOUS,
  AUDIT_LOG_MOUNT,
  admissionPlugin,
  argument,
  BY_KUBEADM,
  CIPHERS_ARGUMENT,
  CLUSTER_CA,
  CNI_FILES,
  CNI_MODES,
  cis,
  ENCRYPTION,
  ETCD_DATA,
  featureGate,
  mode,
  ownedByRoot,
  owner,
  SERVING_CERTIFICATES,
  STRONG_CIPHERS,
} from './build.ts';
import { type Control, RULES } from './control.ts';

/**
 * CIS Kubernetes Benchmark v1.12, sections 1.1 to 1.4: the files and arguments of the control plane. Checks as in kube-bench
 * cfg/cis-1.12/master.yaml; levels as far as published with v1.5 of the benchmark.
 */
export const CIS_CONTROL_PLANE: readonly Control[] = [
  cis('cis-1.1.1', 1, 'control-plane', mode([`${STATIC_PODS_DIRECTORY}/kube-apiserver.yaml`], 0o600), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.2', 1, 'control-plane', ownedByRoot([`${STATIC_PODS_DIRECTORY}/kube-apiserver.yaml`]), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.3', 1, 'control-plane', mode([`${STATIC_PODS_DIRECTORY}/kube-controller-manager.yaml`], 0o600), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.4', 1, 'control-plane', ownedByRoot([`${STATIC_PODS_DIRECTORY}/kube-controller-manager.yaml`]), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.5', 1, 'control-plane', mode([`${STATIC_PODS_DIRECTORY}/kube-scheduler.yaml`], 0o600), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.6', 1, 'control-plane', ownedByRoot([`${STATIC_PODS_DIRECTORY}/kube-scheduler.yaml`]), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.7', 1, 'etcd', mode([`${STATIC_PODS_DIRECTORY}/etcd.yaml`], 0o600), BY_KUBEADM),
  cis('cis-1.1.8', 1, 'etcd', ownedByRoot([`${STATIC_PODS_DIRECTORY}/etcd.yaml`]), BY_KUBEADM),
  cis('cis-1.1.9', 1, 'node', mode(CNI_MODES, 0o600, 0o700)),
  cis('cis-1.1.10', 1, 'node', ownedByRoot(CNI_FILES), BY_KUBEADM),
  cis('cis-1.1.11', 1, 'etcd', mode([ETCD_DATA], 0o700), BY_KUBEADM),
  cis('cis-1.1.12', 1, 'etcd', owner([ETCD_DATA], 'etcd', 'etcd')),
  cis('cis-1.1.13', 1, 'control-plane', mode([ADMIN_KUBECONFIG, SUPER_ADMIN_KUBECONFIG], 0o600), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.14', 1, 'control-plane', ownedByRoot([ADMIN_KUBECONFIG, SUPER_ADMIN_KUBECONFIG]), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.15', 1, 'control-plane', mode([SCHEDULER_KUBECONFIG], 0o600), BY_KUBEADM),
  cis('cis-1.1.16', 1, 'control-plane', ownedByRoot([SCHEDULER_KUBECONFIG]), BY_KUBEADM),
  cis('cis-1.1.17', 1, 'control-plane', mode([CONTROLLER_MANAGER_KUBECONFIG], 0o600), BY_KUBEADM),
  cis('cis-1.1.18', 1, 'control-plane', ownedByRoot([CONTROLLER_MANAGER_KUBECONFIG]), BY_KUBEADM),
  cis(
    'cis-1.1.19',
    1,
    'control-plane',
    ownedByRoot([DEFAULT_CERTIFICATES_DIRECTORY, `${DEFAULT_CERTIFICATES_DIRECTORY}/**`]),
    BY_KUBEADM,
  ),
  cis('cis-1.1.20', 1, 'control-plane', mode([`${DEFAULT_CERTIFICATES_DIRECTORY}/**/*.crt`], 0o644), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.1.21', 1, 'control-plane', mode([`${DEFAULT_CERTIFICATES_DIRECTORY}/**/*.key`], 0o600), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.2.1', 1, 'control-plane', argument('kube-apiserver', { 'anonymous-auth': 'false' }, RULES.is('false')), {
    off: ANONYMOUS,
  }),
  cis('cis-1.2.2', 1, 'control-plane', argument('kube-apiserver', { 'token-auth-file': '' }, RULES.absent), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.2.3', 1, 'control-plane', admissionPlugin('DenyServiceExternalIPs', 'be enabled'), {
    since: 21,
    off: 'Services that use externalIPs stop working.',
  }),
  cis(
    'cis-1.2.4',
    1,
    'control-plane',
    argument(
      'kube-apiserver',
      {
        'kubelet-client-certificate': '/etc/kubernetes/pki/apiserver-kubelet-client.crt',
        'kubelet-client-key': '/etc/kubernetes/pki/apiserver-kubelet-client.key',
      },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.5',
    1,
    'control-plane',
    argument('kube-apiserver', { 'kubelet-certificate-authority': CLUSTER_CA }, RULES.set),
    { off: SERVING_CERTIFICATES },
  ),
  cis(
    'cis-1.2.6',
    1,
    'control-plane',
    argument('kube-apiserver', { 'authorization-mode': 'Node,RBAC' }, RULES.excludes('AlwaysAllow')),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.7',
    1,
    'control-plane',
    argument('kube-apiserver', { 'authorization-mode': 'Node,RBAC' }, RULES.includes('Node')),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.8',
    1,
    'control-plane',
    argument('kube-apiserver', { 'authorization-mode': 'Node,RBAC' }, RULES.includes('RBAC')),
    BY_KUBEADM,
  ),
  cis('cis-1.2.9', 1, 'control-plane', admissionPlugin('EventRateLimit', 'be enabled'), {
    off: 'An alpha API, whose limits depend on the size of the cluster.',
  }),
  cis('cis-1.2.10', 1, 'control-plane', admissionPlugin('AlwaysAdmit', 'not be enabled'), BY_KUBEADM),
  cis('cis-1.2.11', 1, 'control-plane', admissionPlugin('AlwaysPullImages', 'be enabled'), {
    off: 'Every start of a pod then asks a registry: with images brought by archive, nothing starts.',
  }),
  cis('cis-1.2.12', 1, 'control-plane', admissionPlugin('ServiceAccount', 'stay on by default'), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.2.13', 1, 'control-plane', admissionPlugin('NamespaceLifecycle', 'stay on by default'), {
    kubeadmLeavesIt: true,
  }),
  cis('cis-1.2.14', 1, 'control-plane', admissionPlugin('NodeRestriction', 'be enabled'), BY_KUBEADM),
  cis('cis-1.2.15', 1, 'control-plane', argument('kube-apiserver', { profiling: 'false' }, RULES.is('false'))),
  cis(
    'cis-1.2.16',
    1,
    'control-plane',
    argument('kube-apiserver', { 'audit-log-path': '/var/log/kubernetes/audit/audit.log' }, RULES.set, AUDIT_LOG_MOUNT),
  ),
  cis('cis-1.2.17', 1, 'control-plane', argument('kube-apiserver', { 'audit-log-maxage': '30' }, RULES.atLeast(30))),
  cis('cis-1.2.18', 1, 'control-plane', argument('kube-apiserver', { 'audit-log-maxbackup': '10' }, RULES.atLeast(10))),
  cis('cis-1.2.19', 1, 'control-plane', argument('kube-apiserver', { 'audit-log-maxsize': '100' }, RULES.atLeast(100))),
  cis(
    'cis-1.2.20',
    1,
    'control-plane',
    argument('kube-apiserver', { 'request-timeout': '300s' }, RULES.someTimeOrUnset),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.21',
    1,
    'control-plane',
    argument('kube-apiserver', { 'service-account-lookup': 'true' }, RULES.isNot('false')),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.22',
    1,
    'control-plane',
    argument('kube-apiserver', { 'service-account-key-file': '/etc/kubernetes/pki/sa.pub' }, RULES.set),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.23',
    1,
    'control-plane',
    argument(
      'kube-apiserver',
      {
        'etcd-certfile': '/etc/kubernetes/pki/apiserver-etcd-client.crt',
        'etcd-keyfile': '/etc/kubernetes/pki/apiserver-etcd-client.key',
      },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.2.24',
    1,
    'control-plane',
    argument(
      'kube-apiserver',
      {
        'tls-cert-file': '/etc/kubernetes/pki/apiserver.crt',
        'tls-private-key-file': '/etc/kubernetes/pki/apiserver.key',
      },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis('cis-1.2.25', 1, 'control-plane', argument('kube-apiserver', { 'client-ca-file': CLUSTER_CA }, RULES.set), {
    kubeadmLeavesIt: true,
  }),
  cis(
    'cis-1.2.26',
    1,
    'control-plane',
    argument('kube-apiserver', { 'etcd-cafile': '/etc/kubernetes/pki/etcd/ca.crt' }, RULES.set),
    BY_KUBEADM,
  ),
  cis('cis-1.2.27', 1, 'control-plane', argument('kube-apiserver', { 'encryption-provider-config': '' }, RULES.set), {
    off: ENCRYPTION,
  }),
  cis('cis-1.2.28', 1, 'control-plane', { kind: 'encryption' }, { off: ENCRYPTION }),
  cis(
    'cis-1.2.29',
    1,
    'control-plane',
    argument('kube-apiserver', { 'tls-cipher-suites': CIPHERS_ARGUMENT }, RULES.onlyOf(STRONG_CIPHERS)),
  ),
  cis(
    'cis-1.2.30',
    1,
    'control-plane',
    argument('kube-apiserver', { 'service-account-extend-token-expiration': 'false' }, RULES.is('false')),
  ),
  cis(
    'cis-1.3.1',
    1,
    'control-plane',
    argument('kube-controller-manager', { 'terminated-pod-gc-threshold': '12500' }, RULES.atLeast(1)),
  ),
  cis('cis-1.3.2', 1, 'control-plane', argument('kube-controller-manager', { profiling: 'false' }, RULES.is('false'))),
  cis(
    'cis-1.3.3',
    1,
    'control-plane',
    argument('kube-controller-manager', { 'use-service-account-credentials': 'true' }, RULES.is('true')),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.3.4',
    1,
    'control-plane',
    argument(
      'kube-controller-manager',
      { 'service-account-private-key-file': '/etc/kubernetes/pki/sa.key' },
      RULES.set,
    ),
    BY_KUBEADM,
  ),
  cis('cis-1.3.5', 1, 'control-plane', argument('kube-controller-manager', { 'root-ca-file': CLUSTER_CA }, RULES.set), {
    kubeadmLeavesIt: true,
  }),
  cis(
    'cis-1.3.6',
    2,
    'control-plane',
    featureGate('RotateKubeletServerCertificate', 'false', ['kube-controller-manager']),
    BY_KUBEADM,
  ),
  cis(
    'cis-1.3.7',
    1,
    'control-plane',
    argument('kube-controller-manager', { 'bind-address': '127.0.0.1' }, RULES.is('127.0.0.1')),
    BY_KUBEADM,
  ),
  cis('cis-1.4.1', 1, 'control-plane', argument('kube-scheduler', { profiling: 'false' }, RULES.is('false'))),
  cis(
    'cis-1.4.2',
    1,
    'control-plane',
    argument('kube-scheduler', { 'bind-address': '127.0.0.1' }, RULES.is('127.0.0.1')),
    BY_KUBEADM,
  ),
];
