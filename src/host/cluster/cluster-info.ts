import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { requestOnce } from '../http/request-once.ts';

const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const TIMEOUT_MS = 10_000;

/** What an API server answers to a machine that asks for cluster-info without credentials. */
export type ClusterInfo =
  | { readonly kind: 'found'; readonly data: unknown }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable' };

/**
 * Public, and not trusted yet: kubeadm reads it in the same way before it checks the signature and the hashes. Throws only for
 * `signal`.
 *
 * @param endpoint `host:port`
 */
export async function readClusterInfo(
  endpoint: string,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<ClusterInfo> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const url = new URL(CLUSTER_INFO, `https://${endpoint}`);
    const { status, body } = await requestOnce(url, { rejectUnauthorized: false, signal: within });
    if (status !== 200) return { kind: 'refused', status };
    const info: unknown = JSON.parse(body);
    return { kind: 'found', data: member(info, 'data') };
  } catch {
    signal.throwIfAborted();
    return { kind: 'unreachable' };
  }
}

/** PEM of the authority of the cluster, as its cluster-info says. */
export async function authorityOf(info: unknown): Promise<string | undefined> {
  const kubeconfig = text(member(info, 'kubeconfig'));
  if (kubeconfig === undefined) return undefined;
  const clusters = member(await foreignYaml(kubeconfig), 'clusters');
  const first: unknown = Array.isArray(clusters) ? clusters[0] : undefined;
  const encoded = text(member(member(first, 'cluster'), 'certificate-authority-data'));
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}

/** `sha256:<hex>` of the public key, as kubeadm pins it (k/k cmd/kubeadm/app/util/pubkeypin); '' if it is no certificate. */
export function publicKeyHash(pem: string): string {
  try {
    const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(key).digest('hex')}`;
  } catch {
    return '';
  }
}

/** The hashes of all certificates of a file, as in a bundle during the rotation of an authority. */
export function publicKeyHashes(pem: string): readonly string[] {
  return pemBlocks(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map((block) => publicKeyHash(block.text));
}

/**
 * Whether the cluster has signed its cluster-info for a token: the controller manager does it for every valid token (k/k
 * pkg/controller/bootstrap/bootstrapsigner.go), with the secret of the token as the key (k/k cluster-bootstrap/token/jws).
 */
export function signatureFor(token: Secret, info: unknown): 'valid' | 'other secret' | 'none' {
  const [id = '', secret = ''] = token.reveal().split('.');
  const signature = text(member(info, `jws-kubeconfig-${id}`));
  if (signature === undefined) return 'none';
  const [header = '', , signed = ''] = signature.split('.');
  const payload = Buffer.from(text(member(info, 'kubeconfig')) ?? '').toString('base64url');
  const expected = createHmac('sha256', secret).update(`${header}.${payload}`).digest();
  const actual = Buffer.from(signed, 'base64url');
  return actual.length === expected.length && timingSafeEqual(actual, expected) ? 'valid' : 'other secret';
}
