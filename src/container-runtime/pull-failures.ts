import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { CriError } from '../host/cri/client.ts';

/** Why containerd could not pull an image. */
export interface PullFailure {
  readonly reason: Reason;
  readonly remedy: string;
  /** Whether it may pass by itself. */
  readonly retryable: boolean;
  /** What containerd reported. */
  readonly text: string;
}

type Cause = readonly [pattern: RegExp, reason: Reason, remedy: string, retryable: boolean];

/** Error texts of Go's crypto/x509, net/http and net, and of containerd's resolver and authorizer. */
const CAUSES: readonly Cause[] = [
  [
    /certificate signed by unknown authority|unable to (?:read|load) CA cert/,
    'ImageRegistryTLSUntrusted',
    'Give the CA of that server as `ca` beside its URL; one on the registry itself does not count for its mirrors.',
    false,
  ],
  [
    /x509: |tls: /,
    'ImageRegistryTLSUntrusted',
    'The certificate of that server must be valid now and name the host of the URL; `openssl s_client` shows it.',
    false,
  ],
  [
    /failed to fetch \w+ token/,
    'ImagePullUnauthorized',
    'That server hands out tokens. containerd before 2.1 does not show it the credentials of the document (containerd/containerd#11092): use a registry that takes basic authentication, or credentials of pods or of the kubelet; for a newer one correct them.',
    false,
  ],
  [
    /401 Unauthorized|403 Forbidden|unauthorized|authorization failed|access denied|no basic auth credentials/i,
    'ImagePullUnauthorized',
    'Correct the credentials or headers of that server; those of a mirror belong beside the URL of the mirror.',
    false,
  ],
  [
    /server gave HTTP response to HTTPS client/,
    'ImageRegistryPlainHTTP',
    'That server speaks http: write its URL so.',
    false,
  ],
  [
    /no such host|server misbehaving|Temporary failure in name resolution|dial tcp: lookup /,
    'ImagePullDNSFailure',
    'The name of that server does not resolve here: correct it, or the DNS of this machine.',
    true,
  ],
  [
    /429 Too Many Requests|toomanyrequests/i,
    'ImagePullRateLimited',
    'The registry limits requests: wait, or use credentials or a mirror.',
    true,
  ],
  [
    /connection refused|i\/o timeout|no route to host|network is unreachable|connection reset|TLS handshake timeout|deadline exceeded|EOF/i,
    'ImageRegistryUnreachable',
    'That server does not answer from here: look at its address, the route, a firewall and the proxy.',
    true,
  ],
  [
    /not found|404 Not Found|manifest unknown/i,
    'ImageNotFound',
    'No mirror or registry has that image: name one that the mirror has; a mirror below a path may need overridePath.',
    false,
  ],
];

/** The meaning of an error of the CRI call PullImage. */
export function pullFailure(error: CriError): PullFailure {
  const text = error.evidence[0]?.text ?? error.message;
  const [, reason, remedy, retryable] = CAUSES.find(([pattern]) => pattern.test(text)) ?? [
    /$/,
    'ImagePullFailed' as const,
    'Read the evidence, and `journalctl -u containerd` for a hosts.toml that it could not read.',
    true,
  ];
  return { reason, remedy, retryable, text };
}
