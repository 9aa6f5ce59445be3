import type { KubernetesModel, TokenDiscovery } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { type ApiCredential, getObject } from '../host/cluster/api-server.ts';
import {
  authorityOf,
  publicKeyHash,
  publicKeyHashes,
  readClusterInfo,
  signatureFor,
} from '../host/cluster/cluster-info.ts';
import type { ReportedIdentity } from '../host/seam/facts.ts';
import { getNode } from './node-client.ts';

export interface JoinCredentials {
  readonly token: Secret;
  /** Whether the shared certificates must be fetched with a certificate key. */
  readonly fetchesCertificates: boolean;
}

/** Uploaded certificates expire after two hours (k/k cmd/kubeadm/app/phases/copycerts, its token's TTL). */
const CERTIFICATES = '/api/v1/namespaces/kube-system/secrets/kubeadm-certs';

/**
 * Before another join attempt: checks that the short-lived token and uploaded certificates have not expired. kubeadm
 * would notice only after five minutes of retries. What cannot be determined is left to kubeadm.
 *
 * @throws MachineadmError `BootstrapTokenExpired` or `CertificateKeySecretExpired`, both permanent
 */
export async function requireLivingCredentials(
  discovery: TokenDiscovery,
  { token, fetchesCertificates }: JoinCredentials,
  signal: AbortSignal,
): Promise<void> {
  const { endpoint } = discovery;
  const info = await clusterInfo(endpoint, signal);
  if (info === undefined) return;
  if (signatureFor(token, info) === 'none') throw tokenExpired(endpoint);
  const credential = fetchesCertificates ? await credentialFor(discovery, info, token) : undefined;
  if (credential === undefined) return;
  const answer = await getObject(credential, CERTIFICATES, signal);
  if (answer.kind === 'absent') throw certificatesExpired(endpoint);
}

/**
 * Before a join: checks that no other running machine has this machine's name. kubeadm refuses only if the Node is
 * Ready (k/k cmd/kubeadm/app/phases/join/kubelet.go), which it is not before a pod network is installed. It would then
 * announce a second etcd member of that name, which cannot start and costs the first one its quorum, and two kubelets
 * would write one Node. A Node with a silent kubelet is a leftover that a join takes over: the node controller sets its
 * Ready condition to Unknown. What cannot be determined is left to kubeadm.
 *
 * @throws MachineadmError `NodeNameConflict`
 */
export async function requireFreeNodeName(
  discovery: TokenDiscovery,
  machine: Pick<ReportedIdentity, 'machineId' | 'systemUuid'> & { readonly token: Secret; readonly nodeName: string },
  signal: AbortSignal,
): Promise<void> {
  const { machineId, nodeName, systemUuid, token } = machine;
  const info = await clusterInfo(discovery.endpoint, signal);
  const credential = info === undefined ? undefined : await credentialFor(discovery, info, token);
  if (credential === undefined) return;
  const answer = await getNode(credential, nodeName, signal);
  if (answer.kind !== 'found') return;
  const node = answer.object;
  const lives = node.ready?.status === 'True' || node.ready?.status === 'False';
  const isOwn = node.machineId === machineId && (systemUuid === undefined || node.systemUuid === systemUuid);
  if (lives && !isOwn) throw nameTaken(nodeName, node.machineId);
}

/**
 * Before a control plane joins: checks that a CA on disk is that of the cluster. kubeadm overwrites existing shared
 * certificates (k/k cmd/kubeadm/app/phases/copycerts), and the CA of another cluster, as in a restored image, would be
 * lost with its key.
 *
 * @param path of the CA
 * @param pem its content
 * @throws MachineadmError `StaleCertificates`
 */
export function requirePinnedAuthority({ caCertHashes }: TokenDiscovery, path: string, pem: string): void {
  const hashes = publicKeyHashes(pem);
  if (caCertHashes.length === 0 || hashes.length === 0 || hashes.some((hash) => caCertHashes.includes(hash))) return;
  throw new MachineadmError({
    reason: 'StaleCertificates',
    summary: `${path} belongs to another cluster than the one to join. Nothing was changed.`,
    remedy: `Keep the certificates and keys of that cluster elsewhere if they are needed, remove them, and run machineadm provision again. If ${path} is right, correct the caCertHashes of the document.`,
    evidence: [
      {
        source: path,
        text: `${path} has the hash ${hashes.join(', ')}, but the document requires ${caCertHashes.join(', ')}`,
      },
    ],
  });
}

async function clusterInfo(endpoint: string, signal: AbortSignal): Promise<unknown> {
  const answer = await readClusterInfo(endpoint, signal);
  return answer.kind === 'found' ? answer.data : undefined;
}

/** The token is sent only to the cluster that the document pins. */
async function credentialFor(
  { endpoint, caCertHashes }: TokenDiscovery,
  info: unknown,
  token: Secret,
): Promise<ApiCredential | undefined> {
  const certificateAuthority = await authorityOf(info);
  if (certificateAuthority === undefined || !caCertHashes.includes(publicKeyHash(certificateAuthority)))
    return undefined;
  return { server: new URL(`https://${endpoint}`), serverName: undefined, certificateAuthority, token };
}

/** The part of a document that these checks need; undefined with other credentials. */
export function tokenDiscoveryOf({ join }: KubernetesModel): TokenDiscovery | undefined {
  return join !== undefined && 'token' in join.discovery ? join.discovery : undefined;
}

function tokenExpired(endpoint: string): MachineadmError {
  return new MachineadmError({
    reason: 'BootstrapTokenExpired',
    summary: 'The bootstrap token has expired, or was deleted, since this document was written.',
    remedy: 'Put a new token into the document (kubeadm token create), and run machineadm provision again.',
    evidence: [{ source: `cluster-info of ${endpoint}`, text: 'it is not signed for the token of the document' }],
  });
}

function certificatesExpired(endpoint: string): MachineadmError {
  return new MachineadmError({
    reason: 'CertificateKeySecretExpired',
    summary: 'The shared certificates that the certificate key is for have expired: they expire after two hours.',
    remedy:
      'On a control plane run kubeadm init phase upload-certs --upload-certs, put the new key into the document, and run machineadm provision again.',
    evidence: [{ source: endpoint, text: 'Secret kube-system/kubeadm-certs does not exist' }],
  });
}

function nameTaken(nodeName: string, machineId: string): MachineadmError {
  return new MachineadmError({
    reason: 'NodeNameConflict',
    summary: `A Node named ${nodeName} already exists in the cluster, and another machine runs it. Nothing was changed in the cluster.`,
    remedy:
      'Give this machine a unique name (kubernetes.node.name, host.hostname). If the other machine is gone, delete its Node (kubectl delete node).',
    evidence: [
      {
        source: 'API server',
        text: `Node ${nodeName} already exists in the cluster: its kubelet reports machine ID ${machineId}`,
      },
    ],
  });
}
