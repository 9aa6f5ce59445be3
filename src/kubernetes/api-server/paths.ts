import {
  ADMISSION_CONFIG,
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHENTICATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  AUTHORIZATION_WEBHOOK,
  ENCRYPTION_CONFIG,
} from '../../document/ownership/kubernetes-paths.ts';

export {
  ADMISSION_CONFIG,
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHENTICATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  AUTHORIZATION_DIRECTORY,
  AUTHORIZATION_WEBHOOK,
  authorizerKubeconfig,
  ENCRYPTION_CONFIG,
} from '../../document/ownership/kubernetes-paths.ts';

/**
 * Where the API server's files lie, on the machine and in its pod alike. Those that the API server watches for changes
 * are alone in a directory, which is mounted whole: a file mounted by itself would stay the old one when it is replaced.
 */
export const ENCRYPTION_DIRECTORY = '/etc/kubernetes/encryption';
export const AUTHENTICATION_DIRECTORY = '/etc/kubernetes/authentication';
export const ADMISSION_DIRECTORY = '/etc/kubernetes/admission';

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

/** Root's alone: some hold keys, and the API server of kubeadm runs as root. */
export const API_SERVER_FILE_MODE = 0o600;
export const API_SERVER_DIRECTORY_MODE = 0o700;
