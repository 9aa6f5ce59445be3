import type { Sabotage } from './sabotage.ts';

const K = 'kubectl --kubeconfig /etc/kubernetes/admin.conf';

/** A control plane that joins. */
export const CONTROL_PLANE: readonly Sabotage[] = [
  {
    id: 'control-plane-key-wrong',
    role: 'control plane',
    what: 'The certificate key is not the one the certificates were uploaded with',
    document: { secrets: { certificateKey: { value: 'ab'.repeat(32) } } },
    fixture: 'c16-cpjoin-key-wrong',
    expected: {
      reason: 'CertificateKeyMismatch',
      step: 'kubeadm',
      exitCode: 11,
      proof: /message authentication failed/,
    },
  },
  {
    id: 'control-plane-certificates-gone',
    role: 'control plane',
    what: 'The uploaded certificates are gone, as two hours after an init',
    cluster: `${K} -n kube-system delete secret kubeadm-certs`,
    fixture: 'c17-cpjoin-key-expired',
    expected: { reason: 'CertificateKeySecretExpired', step: 'kubeadm', exitCode: 11, proof: /kubeadm-certs/ },
  },
];
