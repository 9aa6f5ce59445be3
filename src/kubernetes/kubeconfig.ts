import { Secret } from '../document/secret.ts';
import type { QueryHost } from '../host/host.ts';
import { member, text } from './untyped.ts';

/** How to reach an API server and prove who asks: the parts of a kubeconfig that kubeadm writes. */
export interface ClusterCredential {
  /** `https://10.0.0.1:6443` */
  readonly server: URL;
  /** Name to expect in the server's certificate where it is not the host of `server`. */
  readonly serverName: string | undefined;
  /** PEM of the authorities the server's certificate must lead to. */
  readonly certificateAuthority: string;
  /** PEM of the client's certificate. */
  readonly certificate: string;
  /** PEM of the client's private key. */
  readonly key: Secret;
}

/** A kubeconfig that is there but cannot be used; the message says why, and holds no secret. */
export class KubeconfigUnusable extends Error {}

/**
 * Reads the current context of a kubeconfig. Certificate, key and authority may be written into it or be files: the
 * kubelet's credential moves to /var/lib/kubelet/pki/kubelet-client-current.pem once it rotates (k/k
 * cmd/kubeadm/app/cmd/phases/init/kubeletfinalize.go).
 *
 * @returns undefined when the file does not exist
 * @throws KubeconfigUnusable when it lacks a part or names a file that is not there
 */
export async function readKubeconfig(host: QueryHost, path: string): Promise<ClusterCredential | undefined> {
  const source = await host.readText(path);
  if (source === undefined) return undefined;
  const { parse } = await import('yaml');
  let config: unknown;
  try {
    config = parse(source);
  } catch {
    // The parser quotes the line it stumbles over, which may be a key.
    throw new KubeconfigUnusable(`${path} is not valid YAML`);
  }
  const context = named(config, 'contexts', text(member(config, 'current-context')), 'context');
  const cluster = named(config, 'clusters', text(member(context, 'cluster')), 'cluster');
  const user = named(config, 'users', text(member(context, 'user')), 'user');
  if (cluster === undefined || user === undefined)
    throw new KubeconfigUnusable(`${path} has no usable current context`);

  const server = URL.parse(text(member(cluster, 'server')) ?? '');
  if (server?.protocol !== 'https:') throw new KubeconfigUnusable(`${path} names no https:// server`);
  const pem = (object: unknown, field: string): Promise<string | undefined> => inlineOrFile(host, path, object, field);
  const certificateAuthority = await pem(cluster, 'certificate-authority');
  const certificate = await pem(user, 'client-certificate');
  const key = await pem(user, 'client-key');
  // Without an authority the system's would be trusted, or worse none (insecure-skip-tls-verify): kubeadm writes neither.
  if (certificateAuthority === undefined) throw new KubeconfigUnusable(`${path} names no certificate authority`);
  if (certificate === undefined || key === undefined) throw new KubeconfigUnusable(`${path} has no client certificate`);
  return {
    server,
    serverName: text(member(cluster, 'tls-server-name')),
    certificateAuthority,
    certificate,
    key: new Secret(key),
  };
}

/** The entry of a kubeconfig list that has this name: `clusters: [{name, cluster: {…}}]`. */
function named(config: unknown, list: string, name: string | undefined, kind: string): unknown {
  const entries = member(config, list);
  if (!Array.isArray(entries) || name === undefined) return undefined;
  return member(
    entries.find((entry) => text(member(entry, 'name')) === name),
    kind,
  );
}

async function inlineOrFile(
  host: QueryHost,
  kubeconfig: string,
  object: unknown,
  field: string,
): Promise<string | undefined> {
  const data = text(member(object, `${field}-data`));
  if (data !== undefined && data !== '') return Buffer.from(data, 'base64').toString('utf8');
  const path = text(member(object, field));
  if (path === undefined || path === '') return undefined;
  const content = await host.readText(path);
  if (content === undefined) throw new KubeconfigUnusable(`${kubeconfig} names ${path}, which does not exist`);
  return content;
}
