import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import * as z from 'zod';
import { isStatus } from '../cluster/api.ts';
import { NotReady } from './not-ready.ts';
import { connectTo, type WorkloadApi } from './workload-api.ts';

/** A workload cluster: its API, and the hashes by which a machine knows its authority. */
export interface Workload {
  readonly api: WorkloadApi;
  readonly caCertHashes: readonly string[];
}

const Kubeconfig = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: z.unknown() })),
  users: z.array(z.looseObject({ name: z.string(), user: z.unknown() })),
});
/** Anything else is refused: a kubeconfig can name programs to run, files of this pod to send, and proxies to send to. */
const ClusterEntry = z.strictObject({
  server: z.string().regex(/^https:\/\/[^\s/?#]+\/?$/),
  'certificate-authority-data': z.string().min(1),
  'tls-server-name': z.string().optional(),
});
const UserEntry = z.union([
  z.strictObject({ 'client-certificate-data': z.string().min(1), 'client-key-data': z.string().min(1) }),
  z.strictObject({ token: z.string().min(1) }),
]);

/**
 * The workload cluster of a kubeconfig that Cluster API stored, as YAML. Throws `NotReady`: whoever may write Secrets in the
 * namespace wrote it, so only an address, an authority and a credential are taken from it.
 */
export async function workloadOf(text: string): Promise<Workload> {
  const refused = (why: string) => new NotReady('WorkloadClusterUnreachable', `the kubeconfig of the Cluster ${why}`);
  const value = await foreignYaml(text);
  if (value === undefined) throw refused('is not YAML');
  const { success, data } = Kubeconfig.safeParse(value);
  if (!success) throw refused('has no current context');
  const context = data.contexts.find(({ name }) => name === data['current-context'])?.context;
  const cluster = ClusterEntry.safeParse(data.clusters.find(({ name }) => name === context?.cluster)?.cluster);
  const user = UserEntry.safeParse(data.users.find(({ name }) => name === context?.user)?.user);
  if (!cluster.success) {
    throw refused('must have server (https), certificate-authority-data, optionally tls-server-name, and nothing else');
  }
  if (!user.success) {
    throw refused('must have client-certificate-data and client-key-data, or token, and nothing else');
  }
  const pem = (base64Text: string) => Buffer.from(base64Text, 'base64').toString('utf8');
  const authority = pem(cluster.data['certificate-authority-data']);
  try {
    return {
      caCertHashes: caHashes(authority),
      api: connectTo({
        server: cluster.data.server.replace(/\/$/, ''),
        certificateAuthority: authority,
        serverName: cluster.data['tls-server-name'],
        ...('token' in user.data
          ? { token: user.data.token }
          : { certificate: pem(user.data['client-certificate-data']), key: pem(user.data['client-key-data']) }),
      }),
    };
  } catch {
    throw refused('has no certificate of an authority');
  }
}

/** `sha256:` and the digest of the public key of each certificate (kubeadm's discovery). */
function caHashes(pem: string): readonly string[] {
  const certificates = pemBlocks(pem).filter(({ label }) => label === 'CERTIFICATE');
  if (certificates.length === 0) throw new TypeError('no certificate');
  return certificates.map(({ text }) => {
    const key = new X509Certificate(text).publicKey.export({ type: 'spki', format: 'der' });
    return `sha256:${createHash('sha256').update(key).digest('hex')}`;
  });
}

/** How long a token is valid; it is renewed in the second half, while a machine needs it (as the kubeadm provider does). */
export const TOKEN_MS = 15 * 60_000;
const SECRETS = '/api/v1/namespaces/kube-system/secrets';
const LETTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

/** A bootstrap token: `id` is public, `id.secret` is not. */
export function newToken(): { readonly id: string; readonly token: string } {
  const letters = (count: number) => Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  const id = letters(6);
  return { id, token: `${id}.${letters(16)}` };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const expiry = (now: Date) => base64(new Date(now.getTime() + TOKEN_MS).toISOString().replace(/\.\d+Z$/, 'Z'));

/** Stores a token in the workload cluster (k8s docs, bootstrap tokens), for a node and nothing else. */
export async function storeToken(api: WorkloadApi, token: string, now: Date, signal: AbortSignal): Promise<void> {
  const [id = '', secret = ''] = token.split('.');
  await api.request({
    method: 'POST',
    path: SECRETS,
    body: {
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      data: {
        'token-id': base64(id),
        'token-secret': base64(secret),
        expiration: expiry(now),
        'usage-bootstrap-authentication': base64('true'),
        'usage-bootstrap-signing': base64('true'),
        'auth-extra-groups': base64('system:bootstrappers:kubeadm:default-node-token'),
        description: base64('token generated by machineadm for Cluster API'),
      },
    },
    signal,
  });
}

const TokenSecret = z.looseObject({ data: z.looseObject({ expiration: z.string() }) });

/** How long a token is still valid, in milliseconds; undefined = there is none. */
export async function tokenLeft(
  api: WorkloadApi,
  id: string,
  now: Date,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const { data } = TokenSecret.parse(await api.request({ path: `${SECRETS}/bootstrap-token-${id}`, signal }));
    const end = Date.parse(Buffer.from(data.expiration, 'base64').toString('utf8'));
    return Number.isNaN(end) ? 0 : end - now.getTime();
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}

export async function extendToken(api: WorkloadApi, id: string, now: Date, signal: AbortSignal): Promise<void> {
  await api.request({
    method: 'PATCH',
    path: `${SECRETS}/bootstrap-token-${id}`,
    contentType: 'application/json-patch+json',
    body: [{ op: 'replace', path: '/data/expiration', value: expiry(now) }],
    signal,
  });
}

export async function removeToken(api: WorkloadApi, id: string, signal: AbortSignal): Promise<void> {
  try {
    await api.request({ method: 'DELETE', path: `${SECRETS}/bootstrap-token-${id}`, signal });
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
}
