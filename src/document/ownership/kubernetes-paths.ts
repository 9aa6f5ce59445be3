/**
 * Where kubeadm, the kubelet and we ourselves keep the files of a node. The defaults are kubeadm's (k/k
 * cmd/kubeadm/app/constants/constants.go); the names below /run/kubeadm are those of Cluster API's kubeadm bootstrap
 * provider (cluster-api bootstrap/kubeadm/internal/cloudinit), because scripts in the field look for them.
 */

/** Holds the rendered configuration; in memory, so that tokens do not outlive a reboot. */
export const KUBEADM_RUN_DIRECTORY = '/run/kubeadm';
export const KUBEADM_INIT_CONFIG = '/run/kubeadm/kubeadm.yaml';
export const KUBEADM_JOIN_CONFIG = '/run/kubeadm/kubeadm-join-config.yaml';
/** A configuration that kubeadm validates before it replaces the one without this suffix. */
export const CANDIDATE_SUFFIX = '.candidate';
/** Patches that we render; used where the document names no directory of its own. */
export const KUBEADM_PATCHES_DIRECTORY = '/run/kubeadm/patches';
/** Names of the patches that we render; a hook may put others beside them. */
export const OWN_PATCH = /(?:\d{3}|0machineadm)\+(?:strategic|merge|json)\.yaml$/;

export const STATIC_PODS_DIRECTORY = '/etc/kubernetes/manifests';
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

/** What the API server was before a reconfiguration of it began. It holds keys, as the files do that it keeps. */
export const API_SERVER_TRANSACTION = '/etc/kubernetes/api-server.before.json';

export function authorizerKubeconfig(name: string): string {
  return `${AUTHORIZATION_DIRECTORY}/${name}.conf`;
}

/** What modprobe is told by hardening profiles; a later file only adds to it (modprobe.d(5)). */
export const DENIED_MODULES_FILE = '/etc/modprobe.d/90-machineadm-hardening.conf';
