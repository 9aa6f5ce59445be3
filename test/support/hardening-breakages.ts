/**
 * How each control of cis-level-1 that passes on a node of kubeadm 1.20 is set wrong, so that it alone fails: a change of one
 * file. In memory and on real machines alike.
 */
export interface Breakage {
  readonly path: string;
  /** Absent: the content stays. */
  readonly change?: (text: string) => string;
  readonly mode?: number;
  readonly uid?: number;
  /** What lies there before is another program's: the pod network's. */
  readonly create?: string;
}

const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const CM = '/etc/kubernetes/manifests/kube-controller-manager.yaml';
const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
const ETCD = '/etc/kubernetes/manifests/etcd.yaml';
const KUBELET_UNIT = '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf';
const FLAGS = '/var/lib/kubelet/kubeadm-flags.env';

const set = (path: string, name: string, value: string): Breakage => ({
  path,
  change(text) {
    const line = new RegExp(`^(\\s+- )"?--${name}=[^\\n]*$`, 'm');
    if (line.test(text)) return text.replace(line, `$1--${name}=${value}`);
    const program = /^(\s+- )(kube-apiserver|kube-controller-manager|kube-scheduler|etcd)$/m;
    return text.replace(program, `$1$2\n$1--${name}=${value}`);
  },
});
const drop = (path: string, name: string): Breakage => ({
  path,
  change: (text) => text.replace(new RegExp(`^\\s+- "?--${name}=[^\\n]*\\n`, 'm'), ''),
});
const mode = (path: string, wrong: number): Breakage => ({ path, mode: wrong });
const owner = (path: string): Breakage => ({ path, uid: 1000 });
const kubelet = (change: (text: string) => string): Breakage => ({ path: '/var/lib/kubelet/config.yaml', change });
const flag = (wrong: string): Breakage => ({
  path: FLAGS,
  change: (text) => text.replace('ARGS="', `ARGS="${wrong} `),
});

/** On a control plane whose kubelet is called `hostname`. */
export const breakages = (hostname: string): Readonly<Record<string, Breakage>> => ({
  '1.1.1': mode(APISERVER, 0o644),
  '1.1.2': owner(APISERVER),
  '1.1.3': mode(CM, 0o604),
  '1.1.4': owner(CM),
  '1.1.5': mode(SCHEDULER, 0o620),
  '1.1.6': owner(SCHEDULER),
  '1.1.7': mode(ETCD, 0o700),
  '1.1.8': owner(ETCD),
  '1.1.11': mode('/var/lib/etcd', 0o755),
  '1.1.12': owner('/var/lib/etcd'),
  '1.1.13': mode('/etc/kubernetes/admin.conf', 0o640),
  '1.1.14': owner('/etc/kubernetes/admin.conf'),
  '1.1.15': mode('/etc/kubernetes/scheduler.conf', 0o640),
  '1.1.16': owner('/etc/kubernetes/scheduler.conf'),
  '1.1.17': mode('/etc/kubernetes/controller-manager.conf', 0o640),
  '1.1.18': owner('/etc/kubernetes/controller-manager.conf'),
  '1.1.19': owner('/etc/kubernetes/pki/etcd/ca.crt'),
  '1.1.20': mode('/etc/kubernetes/pki/etcd/ca.crt', 0o664),
  '1.1.21': mode('/etc/kubernetes/pki/etcd/ca.key', 0o640),
  '1.2.2': set(APISERVER, 'token-auth-file', '/etc/tokens'),
  '1.2.4': drop(APISERVER, 'kubelet-client-key'),
  '1.2.6': set(APISERVER, 'authorization-mode', 'Node,RBAC,AlwaysAllow'),
  '1.2.7': set(APISERVER, 'authorization-mode', 'RBAC'),
  '1.2.8': set(APISERVER, 'authorization-mode', 'Node'),
  '1.2.10': set(APISERVER, 'enable-admission-plugins', 'NodeRestriction,AlwaysAdmit'),
  '1.2.12': set(APISERVER, 'disable-admission-plugins', 'ServiceAccount'),
  '1.2.13': set(APISERVER, 'disable-admission-plugins', 'PodNodeSelector,NamespaceLifecycle'),
  '1.2.14': set(APISERVER, 'enable-admission-plugins', 'LimitRanger'),
  '1.2.15': set(APISERVER, 'profiling', 'true'),
  '1.2.16': drop(APISERVER, 'audit-log-path'),
  '1.2.17': set(APISERVER, 'audit-log-maxage', '7'),
  '1.2.18': set(APISERVER, 'audit-log-maxbackup', '2'),
  '1.2.19': set(APISERVER, 'audit-log-maxsize', '10'),
  '1.2.20': set(APISERVER, 'request-timeout', '0s'),
  '1.2.21': set(APISERVER, 'service-account-lookup', 'false'),
  '1.2.22': drop(APISERVER, 'service-account-key-file'),
  '1.2.23': drop(APISERVER, 'etcd-keyfile'),
  '1.2.24': drop(APISERVER, 'tls-cert-file'),
  '1.2.25': drop(APISERVER, 'client-ca-file'),
  '1.2.26': drop(APISERVER, 'etcd-cafile'),
  '1.2.29': set(APISERVER, 'tls-cipher-suites', 'TLS_RSA_WITH_3DES_EDE_CBC_SHA'),
  '1.2.30': drop(APISERVER, 'service-account-extend-token-expiration'),
  '1.3.1': drop(CM, 'terminated-pod-gc-threshold'),
  '1.3.2': drop(CM, 'profiling'),
  '1.3.3': set(CM, 'use-service-account-credentials', 'false'),
  '1.3.4': drop(CM, 'service-account-private-key-file'),
  '1.3.5': drop(CM, 'root-ca-file'),
  '1.3.7': set(CM, 'bind-address', '0.0.0.0'),
  '1.4.1': set(SCHEDULER, 'profiling', 'true'),
  '1.4.2': drop(SCHEDULER, 'bind-address'),
  '2.1': drop(ETCD, 'key-file'),
  '2.2': set(ETCD, 'client-cert-auth', 'false'),
  '2.3': set(ETCD, 'auto-tls', 'true'),
  '2.4': drop(ETCD, 'peer-cert-file'),
  '2.5': drop(ETCD, 'peer-client-cert-auth'),
  '2.6': set(ETCD, 'peer-auto-tls', 'true'),
  '3.2.1': drop(APISERVER, 'audit-policy-file'),
  '4.1.1': mode(KUBELET_UNIT, 0o644),
  '4.1.2': owner(KUBELET_UNIT),
  '4.1.5': mode('/etc/kubernetes/kubelet.conf', 0o644),
  '4.1.6': owner('/etc/kubernetes/kubelet.conf'),
  '4.1.9': mode('/var/lib/kubelet/config.yaml', 0o644),
  '4.1.10': owner('/var/lib/kubelet/config.yaml'),
  '4.2.1': kubelet((text) => text.replace('anonymous:\n    enabled: false', 'anonymous:\n    enabled: true')),
  '4.2.2': kubelet((text) => text.replace('mode: Webhook', 'mode: AlwaysAllow')),
  '4.2.3': kubelet((text) => text.replace(/ {2}x509:\n.*\n/, '')),
  '4.2.4': kubelet((text) => `${text}readOnlyPort: 10255\n`),
  '4.2.5': flag('--streaming-connection-idle-timeout=0'),
  '4.2.6': kubelet((text) => `${text}makeIPTablesUtilChains: false\n`),
  '4.2.7': flag(`--hostname-override=${hostname}`),
  '4.2.10': kubelet((text) => text.replace('rotateCertificates: true', 'rotateCertificates: false')),
  '4.2.11': kubelet((text) => `${text}featureGates:\n  RotateKubeletServerCertificate: false\n`),
  '4.2.12': kubelet((text) => text.replace(/(tlsCipherSuites:\n)/, '$1  - TLS_RSA_WITH_RC4_128_SHA\n')),
  '4.2.13': kubelet((text) => text.replace(/podPidsLimit: .*\n/, '')),
});

/** On a worker, because on a control plane the same files are also those of another control. */
export const WORKER_BREAKAGES: Readonly<Record<string, Breakage>> = {
  '1.1.9': { path: '/etc/cni/net.d/10-bridge.conf', create: '{}', mode: 0o644 },
  '1.1.10': { path: '/etc/cni/net.d/10-bridge.conf', create: '{}', mode: 0o600, uid: 1000 },
  '4.1.7': mode('/etc/kubernetes/pki/ca.crt', 0o666),
  '4.1.8': owner('/etc/kubernetes/pki/ca.crt'),
};
