import type { TopicEntry } from './entry.ts';
import { IS_NODE, MOVE_AWAY } from './guards.ts';

/**
 * What the machine is like at the time of the diagnosis (`checks/`). It explains a failure where no log names its
 * cause, so every entry lies below the causes that logs name. On a first control plane the way to the endpoint is checked
 * only where its API server serves: otherwise the endpoint is dead because the bootstrap failed.
 */
export const MACHINE_FACTS: readonly TopicEntry[] = [
  fact('fact-disk-full', 'DiskFull', 84, /^the file system of \S+ \(\S+\) is full: /, {
    remedy: 'Free space on the file system that the evidence names, or mount a larger one there.',
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
    remedy: `${IS_NODE} Otherwise renew the certificate that the evidence names, or ${MOVE_AWAY}, so that kubeadm creates a new one.`,
    example: 'certificate /etc/kubernetes/pki/ca.crt expired on 2026-10-21T10:00:00.000Z',
    cleanup: 'reset',
  }),
  fact('fact-certificate-early', 'ClockSkew', 83, /^certificate \S+ is not valid before /, {
    remedy:
      'Compare the clock with another one (`date -u`), and set it (host.time). If it is right, issue the certificate again.',
    example:
      'certificate /etc/kubernetes/pki/ca.crt is not valid before 2027-06-01T00:00:00.000Z: the clock is behind, or it was made for later',
  }),
  fact('fact-certificate-stale', 'StaleCertificates', 82, /^certificate \S+ is not signed by the CA beside it$/, {
    remedy: `${IS_NODE} Otherwise keep the CA. For the certificate that the evidence names, and its key: ${MOVE_AWAY}, so that kubeadm creates new ones.`,
    example: 'certificate /etc/kubernetes/pki/apiserver.crt is not signed by the CA beside it',
    cleanup: 'reset',
  }),
  fact('fact-endpoint-name', 'APIEndpointDNSFailure', 81, /^the name of the API endpoint \S+ does not resolve /, {
    place: 'network',
    remedy: 'Correct the name of the endpoint or the resolver, then provision again.',
    example: 'the name of the API endpoint api.prod.example:6443 does not resolve (ENOTFOUND)',
    retryable: true,
  }),
  fact('fact-endpoint-refused', 'APIEndpointConnectionRefused', 81, /^the API endpoint \S+ refuses connections$/, {
    place: 'network',
    remedy: 'Check that the API server or its load balancer runs, then provision again.',
    example: 'the API endpoint 10.0.0.10:6443 refuses connections',
    retryable: true,
  }),
  fact(
    'fact-own-port-blocked',
    'APIServerPortBlocked',
    82,
    /^the API server of this machine listens on port \d+, but \S+ cannot be reached from here /,
    {
      place: 'network',
      remedy:
        'Open the port that the evidence names on this machine: look at its packet filters (`iptables -S`, `nft list ruleset`).',
      example:
        'the API server of this machine listens on port 6443, but 10.0.0.10:6443 cannot be reached from here (ETIMEDOUT)',
      retryable: true,
      cleanup: 'reset',
    },
  ),
  fact(
    'fact-etcd-port-blocked',
    'EtcdUnreachableFromAPIServer',
    82,
    /^etcd of this machine listens on port \d+, but \S+ cannot be reached from here /,
    {
      place: 'etcd',
      remedy:
        'Open the port that the evidence names on this machine: look at its packet filters (`iptables -S`, `nft list ruleset`).',
      example: 'etcd of this machine listens on port 2379, but 127.0.0.1:2379 cannot be reached from here (ETIMEDOUT)',
      retryable: true,
      cleanup: 'reset',
    },
  ),
  fact('fact-endpoint-timeout', 'APIEndpointTimeout', 81, /^the API endpoint \S+ cannot be reached /, {
    place: 'network',
    remedy: 'Check routes and firewalls between this machine and the endpoint, then provision again.',
    example: 'the API endpoint 10.0.0.10:6443 cannot be reached (ETIMEDOUT)',
    retryable: true,
  }),
  fact('fact-endpoint-etcd', 'EtcdNoLeader', 84, /^the API server at \S+ answers, but its etcd does not$/, {
    place: 'network',
    remedy:
      'Restore etcd of that cluster: check that its members run and have a quorum (`etcdctl endpoint status --cluster`), then provision again.',
    example: 'the API server at 10.0.0.10:6443 answers, but its etcd does not',
    retryable: true,
  }),
  fact(
    'fact-endpoint-untrusted',
    'APIServerCertUntrusted',
    82,
    /^the certificate of the API server at \S+ is not signed by /,
    {
      place: 'network',
      remedy: `The CA on this machine belongs to another cluster. Correct the endpoint if it is wrong. ${IS_NODE} Otherwise, for /etc/kubernetes/pki/ca.crt: ${MOVE_AWAY}.`,
      example: 'the certificate of the API server at 10.0.0.10:6443 is not signed by /etc/kubernetes/pki/ca.crt',
      cleanup: 'reset',
    },
  ),
  fact(
    'fact-endpoint-names',
    'APIServerCertSANMismatch',
    82,
    /^the certificate of the API server at \S+ is for other names$/,
    {
      place: 'network',
      remedy:
        'Add the name or address to kubernetes.controlPlane.apiServer.certSANs, or join by one that the certificate has.',
      example: 'the certificate of the API server at api.prod.example:6443 is for other names',
    },
  ),
  fact('fact-endpoint-expired', 'CertificateExpired', 82, /^the certificate of the API server at \S+ has expired,/, {
    place: 'network',
    remedy:
      'Compare the clocks, look at the certificates there (`kubeadm certs check-expiration`), and renew the expired one (`kubeadm certs renew`).',
    example: 'the certificate of the API server at 10.0.0.10:6443 has expired, or the clock here is ahead',
  }),
  fact('fact-endpoint-early', 'ClockSkew', 82, /^the certificate of the API server at \S+ is not valid yet:/, {
    place: 'network',
    remedy: 'Set the clock (host.time), then provision again.',
    example: 'the certificate of the API server at 10.0.0.10:6443 is not valid yet: the clock here is behind',
    retryable: true,
  }),
  fact(
    'fact-endpoint-other-server',
    'APIEndpointLoadBalancerUnhealthy',
    81,
    /^the API endpoint \S+ accepts connections but does not answer as an API server /,
    {
      place: 'network',
      remedy: 'Check that the load balancer has a healthy API server, and that it passes TLS through.',
      example: 'the API endpoint 10.0.0.10:6443 accepts connections but does not answer as an API server (ECONNRESET)',
      retryable: true,
    },
  ),
  {
    ...fact(
      'fact-etcd-silent',
      'ControlPlaneComponentNotHealthy',
      60,
      /^etcd on this machine is not healthy: no answer within /,
      {
        place: 'etcd',
        remedy:
          'Read the log of etcd (`crictl ps -a --name etcd`, then `crictl logs`), and check its disk, and whether it was stopped.',
        example: 'etcd on this machine is not healthy: no answer within 3 s',
        cleanup: 'reset',
      },
    ),
    kind: 'generic',
  },
];

function fact(
  id: string,
  reason: TopicEntry['reason'],
  priority: number,
  pattern: RegExp,
  rest: Pick<TopicEntry, 'remedy' | 'example'> & Partial<Pick<TopicEntry, 'retryable' | 'cleanup' | 'place'>>,
): TopicEntry {
  return {
    id,
    ...(rest.place === undefined ? {} : { place: rest.place }),
    circumstantial: true,
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
