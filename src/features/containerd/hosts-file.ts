import { createHash } from 'node:crypto';
import type { RegistryEndpoint, RegistryModel, TomlTable } from '@machineadm/document/model/index.ts';
import { ORIGINAL_SUFFIX, OWN_FILE_PREFIX, REGISTRY_HOSTS_FILE } from '@machineadm/document/ownership/paths.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { defined, table } from '../../container-runtime/toml-tree.ts';

const MARK = '# Managed by machineadm:';
const HEADER = `${MARK} what is changed here is lost at its next run. Change the document instead
# (containerRuntime.containerd.registries). containerd reads this file with every pull.

`;
/** The foreign file from before the first run; restored when the document no longer names the registry. */
export const HOSTS_ORIGINAL = `${REGISTRY_HOSTS_FILE}${ORIGINAL_SUFFIX}`;

export interface RegistryFile {
  readonly name: string;
  readonly content: string;
  readonly mode: number;
}

/** Resolves a secret; undefined where that has side effects on a read-only host. */
export type Reveal = (value: SecretValue) => Promise<Secret | undefined>;

/** True for a hosts.toml that this step wrote. */
export function isOurHostsFile(text: string): boolean {
  return text.startsWith(MARK);
}

/** The secrets in the files of a registry. */
export function secretsOf({ server, mirrors }: RegistryModel): readonly SecretValue[] {
  return [server, ...mirrors].flatMap(({ clientCertificate, headers, credentials }) => [
    ...(clientCertificate === undefined ? [] : [clientCertificate.key]),
    ...Object.values(headers),
    ...(credentials === undefined ? [] : [credentials.username, credentials.password]),
  ]);
}

/**
 * The files of a registry's directory, hosts.toml last: it refers to the others. undefined: a secret cannot be resolved
 * here.
 * Each host has a separate table under its URL: containerd 2.x ignores any other form (getSortedHosts), and 1.6 as well
 * as 1.7 before 1.7.32 ignore a file without one ("invalid `host` tree").
 */
export async function registryFiles(
  registry: RegistryModel,
  reveal: Reveal,
): Promise<readonly RegistryFile[] | undefined> {
  const files: RegistryFile[] = [];
  const hosts: Record<string, TomlTable> = {};
  for (const mirror of registry.mirrors) {
    const settings = await settingsOf(mirror, reveal, files);
    if (settings === undefined) return undefined;
    hosts[mirror.url] = settings;
  }
  const { server, fallback } = registry;
  const root = fallback ? await settingsOf(server, reveal, files) : rootWithoutFallback(registry, hosts);
  if (root === undefined) return undefined;
  const url = fallback ? server.url : registry.mirrors.at(-1)?.url;
  if (registry.mirrors.length === 0) hosts[url ?? serverUrl(registry.host)] = root;
  const { stringify } = await import('smol-toml');
  const isPrivate = Object.values(hosts).some((host) => 'header' in host) || 'header' in root;
  const content = `${HEADER}${stringify({ ...defined('server', url), ...root, host: hosts }).trimEnd()}\n`;
  files.push({ name: REGISTRY_HOSTS_FILE, content, mode: isPrivate ? 0o600 : 0o644 });
  return files;
}

/**
 * containerd always appends the server to the hosts (core/remotes/docker/config/hosts.go, parseHostsFile). If the
 * registry itself must not be used, the last mirror replaces it, with all its settings.
 */
function rootWithoutFallback({ mirrors }: RegistryModel, hosts: Readonly<Record<string, TomlTable>>): TomlTable {
  return hosts[mirrors.at(-1)?.url ?? ''] ?? {};
}

/** containerd's own default for the name, where a table needs an explicit value. */
function serverUrl(host: string): string {
  return host === 'docker.io' ? 'https://registry-1.docker.io' : `https://${host}`;
}

async function settingsOf(
  endpoint: RegistryEndpoint,
  reveal: Reveal,
  files: RegistryFile[],
): Promise<TomlTable | undefined> {
  const header: Record<string, string> = {};
  for (const [name, value] of Object.entries(endpoint.headers)) {
    const secret = await reveal(value);
    if (secret === undefined) return undefined;
    header[canonicalHeader(name)] = secret.reveal();
  }
  if (endpoint.credentials !== undefined) {
    const username = await reveal(endpoint.credentials.username);
    const password = await reveal(endpoint.credentials.password);
    if (username === undefined || password === undefined) return undefined;
    header.Authorization = basicAuthorization(username, password);
  }
  const client = await clientPair(endpoint, reveal, files);
  if (client === undefined) return undefined;
  return {
    ...(endpoint.capabilities.length === 0 ? {} : { capabilities: endpoint.capabilities }),
    ...defined('ca', authorityPath(endpoint, files)),
    ...(client.length === 0 ? {} : { client: [client] }),
    ...(endpoint.skipVerify ? { skip_verify: true } : {}),
    ...(endpoint.overridePath ? { override_path: true } : {}),
    ...defined('dial_timeout', endpoint.dialTimeoutMs === undefined ? undefined : `${endpoint.dialTimeoutMs}ms`),
    ...table('header', header),
  };
}

/**
 * hosts.toml has no credentials, and those of registry.configs make 2.1 use the old pull code and will be removed in
 * 2.4. A header works in every version; a registry with tokens gets it with the token request since 2.1
 * (containerd/containerd#11092).
 */
function basicAuthorization(username: Secret, password: Secret): string {
  const pair = new Secret(`${username.reveal()}:${password.reveal()}`);
  return new Secret(`Basic ${Buffer.from(pair.reveal(), 'utf8').toString('base64')}`).reveal();
}

function authorityPath({ ca }: RegistryEndpoint, files: RegistryFile[]): string | undefined {
  if (ca === undefined) return undefined;
  return ca.kind === 'file' ? ca.path : added(files, 'ca.crt', ca.pem, ca.pem, 0o644);
}

/** Names of certificate and key, relative to hosts.toml; [] = none, undefined = the key cannot be resolved here. */
async function clientPair(
  { clientCertificate }: RegistryEndpoint,
  reveal: Reveal,
  files: RegistryFile[],
): Promise<readonly string[] | undefined> {
  if (clientCertificate === undefined) return [];
  const key = await reveal(clientCertificate.key);
  if (key === undefined) return undefined;
  const { certificate } = clientCertificate;
  return [
    added(files, 'client.cert', certificate, certificate, 0o644),
    added(files, 'client.key', certificate, key.reveal(), 0o600),
  ];
}

/**
 * A file named after the digest of its certificate: a new certificate is a new file, which only the new hosts.toml
 * activates.
 */
function added(files: RegistryFile[], kind: string, certificate: string, text: string, mode: number): string {
  const mark = createHash('sha256').update(certificate.trim()).digest('hex').slice(0, 8);
  const name = `${OWN_FILE_PREFIX}${mark}-${kind}`;
  if (!files.some((file) => file.name === name)) files.push({ name, content: `${text.trimEnd()}\n`, mode });
  return name;
}

/** Go compares header names as spelled in the file (net/http, CanonicalHeaderKey). */
function canonicalHeader(name: string): string {
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
