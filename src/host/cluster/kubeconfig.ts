import { Secret } from '@machineadm/document/secrets/secret.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { QueryHost } from '../seam/host.ts';
import type { ApiCredential } from './api-server.ts';

/** The parts of a kubeconfig as kubeadm writes it: the client authenticates with a certificate. */
export interface ClusterCredential extends ApiCredential {
  readonly certificate: string;
  readonly key: Secret;
}

/** A kubeconfig exists but cannot be used; the message gives the reason and contains no secret. */
export class KubeconfigUnusable extends Error {}

/**
 * Reads the current context of a kubeconfig. Certificate, key and authority may be embedded or in files: the kubelet's
 * credential moves to /var/lib/kubelet/pki/kubelet-client-current.pem once it rotates (k/k
 * cmd/kubeadm/app/cmd/phases/init/kubeletfinalize.go).
 *
 * @returns undefined when the file does not exist
 * @throws KubeconfigUnusable when a part is missing or a referenced file does not exist
 */
export async function readKubeconfig(
  host: Pick<QueryHost, 'readText'>,
  path: string,
): Promise<ClusterCredential | undefined> {
  const source = await host.readText(path);
  if (source === undefined) return undefined;
  const { certificate, key, ...rest } = await parseKubeconfig(source, path, (file) => host.readText(file));
  if (certificate === undefined || key === undefined) throw new KubeconfigUnusable(`${path} has no client certificate`);
  return { ...rest, certificate, key };
}

/**
 * The current context of a kubeconfig.
 *
 * @param name its name in messages
 * @param readFile reads referenced files; default: references are not allowed
 * @throws KubeconfigUnusable when a part is missing, or the credential comes from an exec plugin
 */
export async function parseKubeconfig(
  source: string,
  name: string,
  readFile?: (path: string) => Promise<string | undefined>,
): Promise<ApiCredential> {
  const config = await foreignYaml(source);
  if (config === undefined) throw new KubeconfigUnusable(`${name} is not valid YAML`);
  const context = namedEntry(config, 'contexts', text(member(config, 'current-context')), 'context');
  const cluster = namedEntry(config, 'clusters', text(member(context, 'cluster')), 'cluster');
  const user = namedEntry(config, 'users', text(member(context, 'user')), 'user');
  if (cluster === undefined || user === undefined)
    throw new KubeconfigUnusable(`${name} has no usable current context`);

  const server = URL.parse(text(member(cluster, 'server')) ?? '');
  if (server?.protocol !== 'https:') throw new KubeconfigUnusable(`${name} names no https:// server`);
  const pem = async (object: unknown, field: string): Promise<string | undefined> => {
    const data = text(member(object, `${field}-data`));
    if (data !== undefined && data !== '') return Buffer.from(data, 'base64').toString('utf8');
    const path = text(member(object, field));
    if (path === undefined || path === '') return undefined;
    if (readFile === undefined) throw new KubeconfigUnusable(`${name} names the file ${path}; write it in place`);
    const content = await readFile(path);
    if (content === undefined) throw new KubeconfigUnusable(`${name} names ${path}, which does not exist`);
    return content;
  };
  const certificateAuthority = await pem(cluster, 'certificate-authority');
  const certificate = await pem(user, 'client-certificate');
  const key = await pem(user, 'client-key');
  const token = text(member(user, 'token'));
  // Without an authority the system's would be trusted, or no verification done (insecure-skip-tls-verify): kubeadm
  // writes neither.
  if (certificateAuthority === undefined) throw new KubeconfigUnusable(`${name} names no certificate authority`);
  if (token === undefined && (certificate === undefined || key === undefined))
    throw new KubeconfigUnusable(`${name} has neither a client certificate nor a token`);
  return {
    server,
    serverName: text(member(cluster, 'tls-server-name')),
    certificateAuthority,
    ...(certificate === undefined || key === undefined ? {} : { certificate, key: new Secret(key) }),
    ...(token === undefined ? {} : { token: new Secret(token) }),
  };
}

/** The entry with this name in a kubeconfig list: `clusters: [{name, cluster: {…}}]`. */
function namedEntry(config: unknown, list: string, name: string | undefined, kind: string): unknown {
  const entries = member(config, list);
  if (!Array.isArray(entries) || name === undefined) return undefined;
  return member(
    entries.find((entry) => text(member(entry, 'name')) === name),
    kind,
  );
}
