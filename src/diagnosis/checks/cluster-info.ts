import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { authorityOf, publicKeyHashes, readClusterInfo, signatureFor } from '../../host/cluster/cluster-info.ts';
import type { Finding } from './finding.ts';

/** What a machine needs to join a cluster by a token. */
export interface JoinCredentials {
  /** `host:port` of the API server. */
  readonly endpoint: string;
  /** undefined: it cannot be read here. */
  readonly token: Secret | undefined;
  readonly caCertHashes: readonly string[];
}

const TIMEOUT_MS = 4000;

/**
 * Whether the cluster will accept the token and the hashes of a join: the checks that kubeadm makes, and repeats for minutes
 * (k/k cmd/kubeadm/app/discovery/token). The token is not sent. An endpoint that does not answer is the subject of
 * `checkEndpoint`.
 */
export async function checkClusterInfo(
  { endpoint, token, caCertHashes }: JoinCredentials,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const info = await readClusterInfo(endpoint, signal, TIMEOUT_MS);
  if (info.kind === 'unreachable') return [];
  if (info.kind === 'refused') return refusedBy(endpoint, info.status);
  const authority = await authorityOf(info.data);
  const hashes = publicKeyHashes(authority ?? '').filter((hash) => hash !== '');
  if (caCertHashes.length > 0 && hashes.length > 0 && !hashes.some((hash) => caCertHashes.includes(hash))) {
    return [
      failed(
        'CACertHashMismatch',
        `the CA of the cluster at ${endpoint} has the hash ${hashes.join(', ')}, and the document requires ${caCertHashes.join(' or ')}`,
        'Find out first which cluster answers there. If it is the right one, correct caCertHashes.',
      ),
    ];
  }
  if (token === undefined) return [];
  const [id = ''] = token.reveal().split('.');
  const signature = signatureFor(token, info.data);
  if (signature === 'none') {
    return [
      failed(
        'BootstrapTokenNotFound',
        `the cluster at ${endpoint} does not know the bootstrap token with the id ${id}`,
        'Create a token with `kubeadm token create` on a control plane, and issue a new document. The old one may have expired.',
      ),
    ];
  }
  if (signature === 'other secret') {
    return [
      failed(
        'BootstrapTokenSecretMismatch',
        `the cluster at ${endpoint} has a bootstrap token with the id ${id} and another secret`,
        'Compare the token with `kubeadm token list` on a control plane, and issue a new document.',
      ),
    ];
  }
  return [
    {
      id: 'endpoint/join',
      title: 'network',
      severity: 'passed',
      text: `the cluster at ${endpoint} knows the bootstrap token of the document`,
    },
  ];
}

/** 404: kubeadm init has not finished; 401 and 403: anonymous access is off, or cluster-info is not public. */
function refusedBy(endpoint: string, status: number): readonly Finding[] {
  if (status === 404) {
    const text = `the cluster at ${endpoint} has no cluster-info yet (HTTP ${status})`;
    return [failed('ClusterInfoNotFound', text, 'Wait until `kubeadm init` has finished on the first control plane.')];
  }
  if (status !== 401 && status !== 403) return [];
  const text = `the cluster at ${endpoint} does not let a joining machine read cluster-info (HTTP ${status})`;
  const remedy =
    'Run `kubeadm init phase bootstrap-token` on a control plane. Where anonymous access is off, use kubernetes.join.discovery.file.';
  return [failed('ClusterInfoForbidden', text, remedy)];
}

function failed(reason: Reason, text: string, remedy: string): Finding {
  return { id: 'endpoint/join', title: 'network', severity: 'failed', reason, text, remedy };
}
