import type { CatalogueEntry } from './entry.ts';

/**
 * What the machine is like at the time of the diagnosis (`checks/`). It explains a failure where no log names its
 * cause, so every entry lies below the causes that logs name. The way to the endpoint is looked at on joining machines
 * only: on a first control plane the endpoint is dead because the bootstrap failed, and not the other way round.
 */
export const MACHINE_FACTS: readonly CatalogueEntry[] = [
  fact('fact-disk-full', 'DiskFull', 84, /^the file system of \S+ \(\S+\) is full: /, {
    remedy: 'Make room on the file system that the evidence names, or mount a larger one there.',
    example: 'the file system of /var/lib/etcd (/var/lib/etcd) is full: 3 MiB of 16 MiB free (18 %)',
  }),
  fact('fact-read-only', 'ReadOnlyFilesystem', 83, /^the file system of \S+ \(\S+\) is read-only$/, {
    remedy: 'Remount the file system that the evidence names writable.',
    example: 'the file system of /var/lib/kubelet (/var/lib/kubelet) is read-only',
  }),
  fact('fact-clock', 'ClockSkew', 84, /^the clock is \d+ s (behind|ahead of) the API server's$/, {
    remedy: 'Set the clock (host.time), then provision again.',
    example: "the clock is 86400 s behind the API server's",
    retryable: true,
  }),
  fact('fact-certificate-expired', 'CertificateExpired', 83, /^certificate \S+ expired on /, {
    remedy: 'Remove or renew the certificate that the evidence names.',
    example: 'certificate /etc/kubernetes/pki/ca.crt expired on 2026-10-21T10:00:00.000Z',
    cleanup: 'reset',
  }),
  fact('fact-certificate-early', 'ClockSkew', 83, /^certificate \S+ is not valid before /, {
    remedy: 'Set the clock (host.time), or replace the certificate.',
    example:
      'certificate /etc/kubernetes/pki/ca.crt is not valid before 2027-06-01T00:00:00.000Z: the clock is behind, or it was made for later',
  }),
  fact('fact-certificate-stale', 'StaleCertificates', 82, /^certificate \S+ is not signed by the CA beside it$/, {
    remedy: 'Remove the certificates of the earlier cluster with `kubeadm reset -f`.',
    example: 'certificate /etc/kubernetes/pki/apiserver.crt is not signed by the CA beside it',
    cleanup: 'reset',
  }),
  fact('fact-endpoint-name', 'APIEndpointDNSFailure', 81, /^the name of the API endpoint \S+ does not resolve /, {
    remedy: 'Correct the name of the endpoint or the resolver, then provision again.',
    example: 'the name of the API endpoint api.prod.example:6443 does not resolve (ENOTFOUND)',
    retryable: true,
  }),
  fact('fact-endpoint-refused', 'APIEndpointConnectionRefused', 81, /^the API endpoint \S+ refuses connections$/, {
    remedy: 'Look whether the API server or its load balancer runs, then provision again.',
    example: 'the API endpoint 10.0.0.10:6443 refuses connections',
    retryable: true,
  }),
  fact('fact-endpoint-timeout', 'APIEndpointTimeout', 81, /^the API endpoint \S+ cannot be reached /, {
    remedy: 'Look at routes and firewalls between this machine and the endpoint, then provision again.',
    example: 'the API endpoint 10.0.0.10:6443 cannot be reached (ETIMEDOUT)',
    retryable: true,
  }),
  fact(
    'fact-endpoint-untrusted',
    'APIServerCertUntrusted',
    82,
    /^the certificate of the API server at \S+ is not signed by /,
    {
      remedy: 'The CA on this machine is of another cluster: run `kubeadm reset -f`, or correct the endpoint.',
      example: 'the certificate of the API server at 10.0.0.10:6443 is not signed by /etc/kubernetes/pki/ca.crt',
      cleanup: 'reset',
    },
  ),
];

function fact(
  id: string,
  reason: CatalogueEntry['reason'],
  priority: number,
  pattern: RegExp,
  rest: Pick<CatalogueEntry, 'remedy' | 'example'> & Partial<Pick<CatalogueEntry, 'retryable' | 'cleanup'>>,
): CatalogueEntry {
  return {
    id,
    source: 'check',
    only: true,
    kind: 'cause',
    reason,
    priority,
    pattern,
    retryable: rest.retryable ?? false,
    cleanup: rest.cleanup ?? 'none',
    remedy: rest.remedy,
    reference: 'src/diagnosis/checks',
    example: rest.example,
  };
}
