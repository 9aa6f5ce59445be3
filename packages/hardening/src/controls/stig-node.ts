import {
  DEFAULT_CERTIFICATES_DIRECTORY,
  KUBELET_CONFIG,
  KUBELET_KUBECONFIG,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import {
  BY_KUBEADM,
  CLUSTER_CA,
  ETCD_DATA,
  EVERYWHERE,
  featureGate,
  KUBECONFIGS,
  KUBELET_UNIT,
  kubelet,
  mode,
  notApplicableOnNode,
  ownedByRoot,
  owner,
  SERVING_CERTIFICATES,
  SSH,
  stig,
} from './build.ts';
import { type Control, RULES } from './control.ts';

/** The same: the kubelet, feature gates, files, services, and what no node can tell. Both tables are its 95 rules. */
export const STIG_NODE: readonly Control[] = [
  stig(
    'stig-V-242383',
    'CAT I',
    'cluster',
    notApplicableOnNode('whether users put their workloads into separate namespaces'),
  ),
  stig('stig-V-242387', 'CAT I', 'node', kubelet('readOnlyPort', 'read-only-port', RULES.isOrUnset('0'), 0), {
    kubeadmLeavesIt: true,
  }),
  stig(
    'stig-V-242391',
    'CAT I',
    'node',
    kubelet('authentication.anonymous.enabled', 'anonymous-auth', RULES.is('false'), false),
    BY_KUBEADM,
  ),
  stig(
    'stig-V-242392',
    'CAT I',
    'node',
    kubelet('authorization.mode', 'authorization-mode', RULES.is('Webhook'), 'Webhook'),
    BY_KUBEADM,
  ),
  stig(
    'stig-V-242393',
    'CAT II',
    'worker',
    { kind: 'services', services: ['ssh', 'sshd', 'ssh.socket'], must: 'not run' },
    { off: SSH },
  ),
  stig(
    'stig-V-242394',
    'CAT II',
    'worker',
    { kind: 'services', services: ['ssh', 'sshd', 'ssh.socket'], must: 'not be enabled' },
    { off: SSH },
  ),
  stig('stig-V-242395', 'CAT II', 'cluster', notApplicableOnNode('whether the dashboard is installed')),
  stig(
    'stig-V-242396',
    'CAT II',
    'node',
    notApplicableOnNode('whether kubectl is newer than 1.12.9, as every release is that this agent installs'),
  ),
  stig('stig-V-242397', 'CAT I', 'worker', kubelet('staticPodPath', 'pod-manifest-path', RULES.absent, null), {
    off: 'kubeadm and its static pods need the directory; on a worker it takes away the static pods one brings.',
  }),
  stig('stig-V-242398', 'CAT II', 'node', featureGate('DynamicAuditing', 'true', EVERYWHERE), {
    kubeadmLeavesIt: true,
    until: 18,
  }),
  stig('stig-V-242399', 'CAT II', 'node', featureGate('DynamicKubeletConfig', 'true', EVERYWHERE), {
    kubeadmLeavesIt: true,
    until: 25,
  }),
  stig('stig-V-242400', 'CAT II', 'control-plane', featureGate('AllAlpha', 'true', ['kube-apiserver']), {
    kubeadmLeavesIt: true,
  }),
  stig('stig-V-242404', 'CAT II', 'node', { kind: 'kubelet-flag-absent', flag: 'hostname-override' }, BY_KUBEADM),
  stig('stig-V-242405', 'CAT II', 'control-plane', ownedByRoot([`${STATIC_PODS_DIRECTORY}/*`]), {
    kubeadmLeavesIt: true,
  }),
  stig('stig-V-242406', 'CAT II', 'node', ownedByRoot([KUBELET_CONFIG, ...KUBELET_UNIT]), BY_KUBEADM),
  stig('stig-V-242407', 'CAT II', 'node', mode([KUBELET_CONFIG], 0o644), BY_KUBEADM),
  stig('stig-V-242408', 'CAT II', 'control-plane', mode([`${STATIC_PODS_DIRECTORY}/*`], 0o644), {
    kubeadmLeavesIt: true,
  }),
  stig(
    'stig-V-242410',
    'CAT II',
    'cluster',
    notApplicableOnNode('which ports of the API server the site has approved'),
  ),
  stig('stig-V-242411', 'CAT II', 'cluster', notApplicableOnNode('which ports of the scheduler the site has approved')),
  stig(
    'stig-V-242412',
    'CAT II',
    'cluster',
    notApplicableOnNode('which ports of the controllers the site has approved'),
  ),
  stig('stig-V-242413', 'CAT II', 'cluster', notApplicableOnNode('which ports of etcd the site has approved')),
  stig('stig-V-242414', 'CAT II', 'cluster', notApplicableOnNode('whether pods use privileged host ports')),
  stig('stig-V-242415', 'CAT I', 'cluster', notApplicableOnNode('whether pods get Secrets as environment variables')),
  stig('stig-V-242417', 'CAT II', 'cluster', notApplicableOnNode('whether people run pods in system namespaces')),
  stig(
    'stig-V-242420',
    'CAT II',
    'node',
    kubelet('authentication.x509.clientCAFile', 'client-ca-file', RULES.set, CLUSTER_CA),
    BY_KUBEADM,
  ),
  stig('stig-V-242424', 'CAT II', 'node', kubelet('tlsPrivateKeyFile', 'tls-private-key-file', RULES.set, undefined), {
    off: SERVING_CERTIFICATES,
  }),
  stig('stig-V-242425', 'CAT II', 'node', kubelet('tlsCertFile', 'tls-cert-file', RULES.set, undefined), {
    off: SERVING_CERTIFICATES,
  }),
  stig(
    'stig-V-242434',
    'CAT I',
    'node',
    kubelet('protectKernelDefaults', 'protect-kernel-defaults', RULES.is('true'), true),
  ),
  stig(
    'stig-V-242437',
    'CAT I',
    'cluster',
    notApplicableOnNode('pod security policies, which Kubernetes 1.25 removed'),
  ),
  stig(
    'stig-V-242442',
    'CAT II',
    'cluster',
    notApplicableOnNode('whether components of earlier versions were removed'),
  ),
  stig('stig-V-242443', 'CAT II', 'cluster', notApplicableOnNode('whether the latest security updates are installed')),
  stig('stig-V-242444', 'CAT II', 'control-plane', ownedByRoot([`${STATIC_PODS_DIRECTORY}/*`]), {
    kubeadmLeavesIt: true,
  }),
  stig('stig-V-242445', 'CAT II', 'etcd', owner([ETCD_DATA, `${ETCD_DATA}/**`], 'etcd', 'etcd'), {
    off: "kubeadm's etcd runs as root, and each file that it makes is root's again.",
  }),
  stig('stig-V-242446', 'CAT II', 'control-plane', ownedByRoot(KUBECONFIGS), BY_KUBEADM),
  stig(
    'stig-V-242447',
    'CAT II',
    'node',
    notApplicableOnNode('the kubeconfig of kube-proxy, which kubeadm keeps in a ConfigMap'),
  ),
  stig(
    'stig-V-242448',
    'CAT II',
    'node',
    notApplicableOnNode('the kubeconfig of kube-proxy, which kubeadm keeps in a ConfigMap'),
  ),
  stig('stig-V-242449', 'CAT II', 'node', mode([CLUSTER_CA], 0o644), BY_KUBEADM),
  stig('stig-V-242450', 'CAT II', 'node', ownedByRoot([CLUSTER_CA]), BY_KUBEADM),
  stig(
    'stig-V-242451',
    'CAT II',
    'control-plane',
    ownedByRoot([DEFAULT_CERTIFICATES_DIRECTORY, `${DEFAULT_CERTIFICATES_DIRECTORY}/**`]),
    BY_KUBEADM,
  ),
  stig('stig-V-242452', 'CAT II', 'node', mode([KUBELET_KUBECONFIG], 0o644), BY_KUBEADM),
  stig('stig-V-242453', 'CAT II', 'node', ownedByRoot([KUBELET_KUBECONFIG]), BY_KUBEADM),
  stig('stig-V-242454', 'CAT II', 'node', ownedByRoot(KUBELET_UNIT), BY_KUBEADM),
  stig('stig-V-242455', 'CAT II', 'node', mode(KUBELET_UNIT, 0o644), BY_KUBEADM),
  stig('stig-V-242456', 'CAT II', 'node', mode([KUBELET_CONFIG], 0o644), BY_KUBEADM),
  stig('stig-V-242457', 'CAT II', 'node', ownedByRoot([KUBELET_CONFIG]), BY_KUBEADM),
  stig('stig-V-242458', 'CAT II', 'control-plane', mode([`${STATIC_PODS_DIRECTORY}/*`], 0o644), {
    kubeadmLeavesIt: true,
  }),
  stig('stig-V-242459', 'CAT II', 'etcd', mode([`${ETCD_DATA}/**`], 0o644, 0o700), BY_KUBEADM),
  stig('stig-V-242460', 'CAT II', 'control-plane', mode(KUBECONFIGS, 0o644), BY_KUBEADM),
  stig('stig-V-242466', 'CAT II', 'control-plane', mode([`${DEFAULT_CERTIFICATES_DIRECTORY}/**/*.crt`], 0o644), {
    kubeadmLeavesIt: true,
  }),
  stig('stig-V-242467', 'CAT II', 'control-plane', mode([`${DEFAULT_CERTIFICATES_DIRECTORY}/**/*.key`], 0o600), {
    kubeadmLeavesIt: true,
  }),
  stig(
    'stig-V-245541',
    'CAT II',
    'node',
    kubelet('streamingConnectionIdleTimeout', 'streaming-connection-idle-timeout', RULES.someTime, '5m0s'),
  ),
  stig('stig-V-254801', 'CAT I', 'node', featureGate('PodSecurity', 'false', EVERYWHERE), {
    kubeadmLeavesIt: true,
    since: 22,
    until: 27,
  }),
];
