import type { TopicEntry } from './entry.ts';
import { IS_NODE, MOVE_AWAY } from './guards.ts';

/** The certificates that all control planes share, and the key they are uploaded with. */
export const SHARED_CERTIFICATES: readonly TopicEntry[] = [
  {
    id: 'shared-certs-missing',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'SharedCertificatesMissing',
    priority: 100,
    pattern: /failure loading (certificate|key) for ([\w -]{1,80}): couldn't load /,
    retryable: false,
    cleanup: 'none',
    remedy:
      'Add the shared CAs and the service account key to the document (pki), or a certificateKey to download them.',
    reference: 'k/k phases/certs/certs.go SharedCertificateExists',
    example:
      "failure loading certificate for CA: couldn't load the certificate file /etc/kubernetes/pki/ca.crt: open /etc/kubernetes/pki/ca.crt: no such file or directory",
  },
  {
    id: 'certkey-expired',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateKeySecretExpired',
    priority: 100,
    pattern: /Secret "kubeadm-certs" was not found/,
    retryable: false,
    cleanup: 'reset',
    remedy:
      'Run `kubeadm init phase upload-certs --upload-certs` on a control plane (it expires after two hours) and issue a new document.',
    reference: 'k/k phases/copycerts/copycerts.go',
    example:
      'error execution phase control-plane-prepare/download-certs: error downloading certs: error downloading the secret: Secret "kubeadm-certs" was not found in the "kube-system" Namespace. This Secret might have expired. Please, run `kubeadm init phase upload-certs --upload-certs` on a control plane to generate a new one',
  },
  {
    id: 'certkey-forbidden',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateSecretForbidden',
    priority: 100,
    pattern: /secrets "kubeadm-certs" is forbidden/,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Run `kubeadm init phase upload-certs --upload-certs` on a control plane; it grants the access too.',
    reference: 'k/k phases/copycerts/copycerts.go createRBAC',
    example:
      'error downloading certs: error downloading the secret: secrets "kubeadm-certs" is forbidden: User "system:bootstrap:abcdef" cannot get resource "secrets" in API group "" in the namespace "kube-system"',
    composed: true,
  },
  {
    id: 'certkey-mismatch',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateKeyMismatch',
    priority: 100,
    pattern: /error decoding secret data with provided key: /,
    retryable: false,
    cleanup: 'reset',
    remedy: 'Issue a new document with the certificate key of the last upload.',
    reference: 'kubernetes/kubeadm#1510; labring/sealos#1036',
    example:
      'error execution phase control-plane-prepare/download-certs: error downloading certs: error decoding secret data with provided key: cipher: message authentication failed',
  },
  {
    id: 'certkey-malformed',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateKeyMalformed',
    priority: 100,
    pattern: /(error decoding certificate key: |certificateKey: Invalid value)/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Use the 64 hexadecimal digits that `kubeadm certs certificate-key` prints.',
    reference: 'kubernetes/kubernetes#87280',
    example: "error downloading certs: error decoding certificate key: encoding/hex: invalid byte: U+006D 'm'",
  },
  {
    id: 'certkey-incomplete',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateSecretIncomplete',
    priority: 100,
    pattern: /the Secret does not include the required certificate or key - name: (\S+),/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Upload again from a control plane that has the named file.',
    reference: 'k/k phases/copycerts/copycerts.go DownloadCerts',
    example:
      'error downloading certs: the Secret does not include the required certificate or key - name: external-etcd.crt, path: /etc/kubernetes/pki/apiserver-etcd-client.crt',
  },
  {
    id: 'ca-key-foreign',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'PKIInvalid',
    priority: 100,
    pattern: /x509: provided PrivateKey doesn't match parent's PublicKey/,
    retryable: false,
    cleanup: 'none',
    remedy: `Provide the key that belongs to the certificate authority. On a first control plane that never worked, kubeadm can make a new pair. ${IS_NODE} Otherwise, for both files: ${MOVE_AWAY}.`,
    reference: 'Go crypto/x509 CreateCertificate',
    example:
      "error execution phase certs/apiserver: unable to sign certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
  },
  {
    id: 'ca-load-failed',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'CertificateUnreadable',
    priority: 100,
    pattern:
      /(data does not contain a valid RSA or ECDSA private key|data does not contain any valid RSA or ECDSA certificates|failed to parse cluster CA)/,
    retryable: false,
    cleanup: 'none',
    remedy: 'Write the certificate or key again: its PEM is damaged or truncated.',
    reference: 'client-go util/keyutil, util/cert',
    example:
      "error execution phase certs/ca: failure loading ca certificate: couldn't load the private key file /etc/kubernetes/pki/ca.key: error reading private key file /etc/kubernetes/pki/ca.key: data does not contain a valid RSA or ECDSA private key",
  },
];
