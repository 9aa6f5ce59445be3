/**
 * The paths of kubeadm, the kubelet and machineadm for a node, with their modes. The defaults are kubeadm's (k/k
 * cmd/kubeadm/app/constants/constants.go); the names below /run/kubeadm are those of Cluster API's kubeadm bootstrap
 * provider (cluster-api bootstrap/kubeadm/internal/cloudinit), because existing scripts use them.
 */

/** Contains the rendered configuration; in memory, so that tokens do not survive a reboot. */
export const KUBEADM_RUN_DIRECTORY = '/run/kubeadm';
export const KUBEADM_INIT_CONFIG = '/run/kubeadm/kubeadm.yaml';
export const KUBEADM_JOIN_CONFIG = '/run/kubeadm/kubeadm-join-config.yaml';
/** Suffix of a configuration that kubeadm validates before it replaces the current one. */
export const CANDIDATE_SUFFIX = '.candidate';
/** Our rendered patches; used if the document names no directory of its own. */
export const KUBEADM_PATCHES_DIRECTORY = '/run/kubeadm/patches';
/** Names of our rendered patches; a hook may add others. */
export const OWN_PATCH = /(?:\d{3}|0machineadm)\+(?:strategic|merge|json)\.yaml$/;

export const STATIC_PODS_DIRECTORY = '/etc/kubernetes/manifests';
/** kubeadm's static pods (k/k cmd/kubeadm/app/constants/constants.go), each after those that it needs. */
export const KUBEADM_PODS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type KubeadmPod = (typeof KUBEADM_PODS)[number];

export const KUBELET_CONFIG = '/var/lib/kubelet/config.yaml';
export const KUBELET_FLAGS_ENVIRONMENT = '/var/lib/kubelet/kubeadm-flags.env';

export function staticPodPath(name: string): string {
  return `${STATIC_PODS_DIRECTORY}/${name}.yaml`;
}

export const AUDIT_POLICY = '/etc/kubernetes/audit-policy.yaml';
export const AUDIT_WEBHOOK = '/etc/kubernetes/audit-webhook.conf';
export const ENCRYPTION_CONFIG = '/etc/kubernetes/encryption/config.yaml';
export const AUTHENTICATION_WEBHOOK = '/etc/kubernetes/authentication/webhook.conf';
export const AUTHENTICATION_CONFIG = '/etc/kubernetes/authentication/config.yaml';
export const AUTHORIZATION_DIRECTORY = '/etc/kubernetes/authorization';
export const AUTHORIZATION_WEBHOOK = '/etc/kubernetes/authorization/webhook.conf';
export const AUTHORIZATION_CONFIG = '/etc/kubernetes/authorization/config.yaml';
export const ADMISSION_CONFIG = '/etc/kubernetes/admission/config.yaml';

/** The saved state of the API server before a reconfiguration. It contains keys, like the files in it. */
export const API_SERVER_TRANSACTION = '/etc/kubernetes/api-server.before.json';

export function authorizerKubeconfig(name: string): string {
  return `${AUTHORIZATION_DIRECTORY}/${name}.conf`;
}

/** modprobe settings of hardening profiles; a later file only adds to it (modprobe.d(5)). */
export const DENIED_MODULES_FILE = '/etc/modprobe.d/90-machineadm-hardening.conf';

/**
 * Both configurations contain bootstrap tokens, and only kubeadm and the hooks read them, as root. Cluster API's
 * provider sets 0640 root:root, which is equivalent if root's group has no other member.
 */
export const KUBEADM_CONFIG_MODE = 0o600;
export const KUBEADM_RUN_DIRECTORY_MODE = 0o755;

export const DEFAULT_CERTIFICATES_DIRECTORY = '/etc/kubernetes/pki';
export const DEFAULT_CA_CERTIFICATE = '/etc/kubernetes/pki/ca.crt';
export const ADMIN_KUBECONFIG = '/etc/kubernetes/admin.conf';
/** Written by `kubeadm init` from 1.29 on. */
export const SUPER_ADMIN_KUBECONFIG = '/etc/kubernetes/super-admin.conf';
/** Contains the bootstrap token while the kubelet has no certificate; a killed join leaves it behind. */
export const BOOTSTRAP_KUBELET_KUBECONFIG = '/etc/kubernetes/bootstrap-kubelet.conf';
export const CONTROLLER_MANAGER_KUBECONFIG = '/etc/kubernetes/controller-manager.conf';
export const SCHEDULER_KUBECONFIG = '/etc/kubernetes/scheduler.conf';

export const KUBELET_DIRECTORY = '/var/lib/kubelet';
export const DEFAULT_ETCD_DATA_DIRECTORY = '/var/lib/etcd';

/** As Cluster API's provider writes them; kubeadm itself would give certificates 0644 and keys 0600. */
export const CERTIFICATE_MODE = 0o640;
export const KEY_MODE = 0o600;
export const CERTIFICATES_DIRECTORY_MODE = 0o755;

/** The kubelet's own credential. It may write its own Node and no others. */
export const KUBELET_KUBECONFIG = '/etc/kubernetes/kubelet.conf';

/**
 * The directories of the API server's files, on the machine and in its pod. Files that the API server watches have a
 * directory of their own, which is mounted as a whole: a file mounted by itself would not change when it is replaced.
 */
export const ENCRYPTION_DIRECTORY = '/etc/kubernetes/encryption';
export const AUTHENTICATION_DIRECTORY = '/etc/kubernetes/authentication';
export const ADMISSION_DIRECTORY = '/etc/kubernetes/admission';

/** All of them except the kubeconfigs of structured authorizers, which the document names. */
export const API_SERVER_FILES: readonly string[] = [
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  ENCRYPTION_CONFIG,
  AUTHENTICATION_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHORIZATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  ADMISSION_CONFIG,
];

/** For root only: some contain keys, and kubeadm's API server runs as root. */
export const API_SERVER_FILE_MODE = 0o600;
export const API_SERVER_DIRECTORY_MODE = 0o700;
