/**
 * Where kubeadm, the kubelet and we ourselves keep the files of a node, and with what permission bits. The defaults are
 * kubeadm's (k/k cmd/kubeadm/app/constants/constants.go); the names below /run/kubeadm are those of Cluster API's kubeadm
 * bootstrap provider (cluster-api bootstrap/kubeadm/internal/cloudinit), because scripts in the field look for them.
 */

export {
  CANDIDATE_SUFFIX,
  KUBEADM_INIT_CONFIG,
  KUBEADM_JOIN_CONFIG,
  KUBEADM_PATCHES_DIRECTORY,
  KUBEADM_RUN_DIRECTORY,
  KUBELET_CONFIG,
  KUBELET_FLAGS_ENVIRONMENT,
  STATIC_PODS_DIRECTORY,
} from '../document/ownership/kubernetes-paths.ts';
export { KUBELET_KUBECONFIG } from '../host/kubelet-credential.ts';

/**
 * Both configurations hold bootstrap tokens, and only kubeadm and the hooks read them, as root. Cluster API's provider
 * gives them 0640 root:root, which lets nobody else in either where root's group has no other member.
 */
export const KUBEADM_CONFIG_MODE = 0o600;
export const KUBEADM_RUN_DIRECTORY_MODE = 0o755;

export const KUBERNETES_DIRECTORY = '/etc/kubernetes';
export const DEFAULT_CERTIFICATES_DIRECTORY = '/etc/kubernetes/pki';
export const DEFAULT_CA_CERTIFICATE = '/etc/kubernetes/pki/ca.crt';
export const ADMIN_KUBECONFIG = '/etc/kubernetes/admin.conf';
/** Written by `kubeadm init` from 1.29 on. */
export const SUPER_ADMIN_KUBECONFIG = '/etc/kubernetes/super-admin.conf';
/** Holds the bootstrap token while the kubelet has no certificate; left behind by a killed join. */
export const BOOTSTRAP_KUBELET_KUBECONFIG = '/etc/kubernetes/bootstrap-kubelet.conf';
export const CONTROLLER_MANAGER_KUBECONFIG = '/etc/kubernetes/controller-manager.conf';
export const SCHEDULER_KUBECONFIG = '/etc/kubernetes/scheduler.conf';

export const KUBELET_DIRECTORY = '/var/lib/kubelet';
export const KUBELET_CLIENT_CERTIFICATE = '/var/lib/kubelet/pki/kubelet-client-current.pem';
export const DEFAULT_ETCD_DATA_DIRECTORY = '/var/lib/etcd';

/** As Cluster API's provider writes them; kubeadm itself would give certificates 0644 and keys 0600. */
export const CERTIFICATE_MODE = 0o640;
export const KEY_MODE = 0o600;
export const CERTIFICATES_DIRECTORY_MODE = 0o755;
