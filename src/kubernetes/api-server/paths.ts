/**
 * Where the API server's files lie, on the machine and in its pod alike. Those that the API server watches for changes
 * are alone in a directory, which is mounted whole: a file mounted by itself would stay the old one when it is replaced.
 */
export const AUDIT_POLICY = '/etc/kubernetes/audit-policy.yaml';
export const AUDIT_WEBHOOK = '/etc/kubernetes/audit-webhook.conf';
export const ENCRYPTION_DIRECTORY = '/etc/kubernetes/encryption';
export const ENCRYPTION_CONFIG = '/etc/kubernetes/encryption/config.yaml';
export const AUTHENTICATION_DIRECTORY = '/etc/kubernetes/authentication';
export const AUTHENTICATION_WEBHOOK = '/etc/kubernetes/authentication/webhook.conf';
export const AUTHENTICATION_CONFIG = '/etc/kubernetes/authentication/config.yaml';
export const AUTHORIZATION_DIRECTORY = '/etc/kubernetes/authorization';
export const AUTHORIZATION_WEBHOOK = '/etc/kubernetes/authorization/webhook.conf';
export const AUTHORIZATION_CONFIG = '/etc/kubernetes/authorization/config.yaml';
export const ADMISSION_DIRECTORY = '/etc/kubernetes/admission';
export const ADMISSION_CONFIG = '/etc/kubernetes/admission/config.yaml';

/** All of them but the kubeconfigs of structured authorizers, whose names the document gives. */
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

/** The kubeconfig of a structured authorizer, by its name. */
export function authorizerKubeconfig(name: string): string {
  return `${AUTHORIZATION_DIRECTORY}/${name}.conf`;
}

/** Root's alone: some hold keys, and the API server of kubeadm runs as root. */
export const API_SERVER_FILE_MODE = 0o600;
export const API_SERVER_DIRECTORY_MODE = 0o700;
