import { createHash, X509Certificate } from 'node:crypto';
import { MachineadmError } from '../document/errors.ts';
import type { KubernetesModel, TokenDiscovery } from '../document/model.ts';
import type { Secret } from '../document/secret.ts';
import { askHttps, type HttpsAnswer, type HttpsQuestion } from '../host/https.ts';
import { member, text } from '../host/untyped.ts';

/** What a join proves itself with, found out. */
export interface JoinCredentials {
  readonly token: Secret;
  /** Whether the shared certificates must be fetched with a certificate key. */
  readonly fetchesCertificates: boolean;
}

const TIMEOUT_MS = 10_000;
const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
/** Lives two hours after its upload (k/k cmd/kubeadm/app/phases/copycerts, its token's TTL). */
const CERTIFICATES = '/api/v1/namespaces/kube-system/secrets/kubeadm-certs';

/**
 * Before another attempt to join: whether the token and the uploaded certificates still live, which are short-lived.
 * kubeadm would find out only after five minutes of asking. What cannot be found out is left to kubeadm.
 *
 * @throws MachineadmError `BootstrapTokenExpired` or `CertificateKeySecretExpired`, neither worth a retry
 */
export async function requireLivingCredentials(
  { endpoint, caCertHashes }: TokenDiscovery,
  { token, fetchesCertificates }: JoinCredentials,
  signal: AbortSignal,
): Promise<void> {
  // Public, and not yet to be trusted: kubeadm reads it the same way before it checks the signature and the hashes.
  const info = await get(endpoint, CLUSTER_INFO, { rejectUnauthorized: false }, signal);
  const data = info?.status === 200 ? member(parsed(info.body), 'data') : undefined;
  if (data === undefined) return;
  const [id = ''] = token.reveal().split('.');
  // The controller signs cluster-info for every living token (k/k pkg/controller/bootstrap/bootstrapsigner.go).
  if (text(member(data, `jws-kubeconfig-${id}`)) === undefined) throw tokenExpired(endpoint);
  if (!fetchesCertificates) return;
  const authority = await authorityIn(text(member(data, 'kubeconfig')));
  // The token is shown to the cluster that the document pins, and to no other.
  if (authority === undefined || !caCertHashes.includes(hashOf(authority))) return;
  const headers = { authorization: `Bearer ${token.reveal()}` };
  const answer = await get(endpoint, CERTIFICATES, { ca: authority, headers }, signal);
  if (answer?.status === 404) throw certificatesExpired(endpoint);
}

/** What of a document `requireLivingCredentials` can judge; undefined where nothing. */
export function tokenDiscoveryOf({ join }: KubernetesModel): TokenDiscovery | undefined {
  return join !== undefined && 'token' in join.discovery ? join.discovery : undefined;
}

async function authorityIn(kubeconfig: string | undefined): Promise<string | undefined> {
  if (kubeconfig === undefined) return undefined;
  const { parse } = await import('yaml');
  try {
    const clusters = member(parse(kubeconfig), 'clusters');
    const first: unknown = Array.isArray(clusters) ? clusters[0] : undefined;
    const encoded = text(member(member(first, 'cluster'), 'certificate-authority-data'));
    return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
  } catch {
    return undefined;
  }
}

/** `sha256:<hex>` of the public key, as kubeadm pins it (k/k cmd/kubeadm/app/util/pubkeypin). */
function hashOf(pem: string): string {
  try {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(key).digest('hex')}`;
  } catch {
    return '';
  }
}

/** undefined: nobody answered. Throws for `signal` only. */
async function get(
  endpoint: string,
  path: string,
  options: Pick<HttpsQuestion, 'ca' | 'rejectUnauthorized' | 'headers'>,
  signal: AbortSignal,
): Promise<HttpsAnswer | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    return await askHttps(new URL(path, `https://${endpoint}`), { ...options, signal: within });
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function tokenExpired(endpoint: string): MachineadmError {
  return new MachineadmError({
    reason: 'BootstrapTokenExpired',
    summary: 'The bootstrap token has expired, or was deleted, since this document was written.',
    remedy: 'Give the document a fresh token (kubeadm token create), and run machineadm provision again.',
    evidence: [{ source: `cluster-info of ${endpoint}`, text: 'it is not signed for the token of the document' }],
  });
}

function certificatesExpired(endpoint: string): MachineadmError {
  return new MachineadmError({
    reason: 'CertificateKeySecretExpired',
    summary: 'The shared certificates that the certificate key is for have expired: they live two hours.',
    remedy:
      'On a control plane run kubeadm init phase upload-certs --upload-certs, put the new key into the document, and run machineadm provision again.',
    evidence: [{ source: endpoint, text: 'Secret kube-system/kubeadm-certs does not exist' }],
  });
}
