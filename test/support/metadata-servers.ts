import type { IncomingMessage } from 'node:http';
import { startServer, type TestServer } from './http-servers.ts';

type Answer = { status?: number; headers?: Record<string, string>; body?: string };

/** Values of a tree by their path; a path that ends in "/" lists what is below it, as AWS and GCP do. */
export type MetadataTree = Readonly<Record<string, string>>;

function inTree(tree: MetadataTree, path: string): Answer {
  const value = tree[path];
  if (value !== undefined) return { body: value };
  const directory = path === '' || path.endsWith('/') ? path : `${path}/`;
  const below = Object.keys(tree).filter((name) => name.startsWith(directory));
  if (below.length === 0 || (path !== '' && !path.endsWith('/'))) return { status: 404, body: '<h1>Not Found</h1>' };
  const names = below.map((name) => name.slice(directory.length).replace(/\/.*$/, '/'));
  return { body: [...new Set(names)].join('\n') };
}

/** IMDSv2: without a token of its own making it answers 401, and a token costs a PUT with a lifetime. */
export function startAws(tree: MetadataTree): Promise<TestServer> {
  return startServer(aws(tree));
}

/** What a metadata service answers. */
type Service = (request: IncomingMessage) => Answer;

function aws(tree: MetadataTree): Service {
  const token = 'AQAEAJ-metadata-session-token==';
  return (request) => {
    const url = request.url ?? '';
    if (url === '/latest/api/token') {
      const seconds = Number(request.headers['x-aws-ec2-metadata-token-ttl-seconds']);
      if (request.method !== 'PUT') return { status: 405 };
      // The service refuses the PUT of a proxy (AWS: "add the X-Forwarded-For header").
      if (request.headers['x-forwarded-for'] !== undefined) return { status: 403 };
      return seconds >= 1 && seconds <= 21_600 ? { body: token } : { status: 400 };
    }
    if (request.headers['x-aws-ec2-metadata-token'] !== token) return { status: 401 };
    if (!url.startsWith('/latest/')) return { status: 404 };
    const path = url.slice('/latest/'.length);
    return inTree(tree, path);
  };
}

/** Refuses what lacks the header that a browser or a proxy cannot be made to send. */
export function startGcp(tree: MetadataTree): Promise<TestServer> {
  return startServer(gcp(tree));
}

function gcp(tree: MetadataTree): Service {
  return (request) => {
    const headers = { 'metadata-flavor': 'Google' };
    if (request.headers['metadata-flavor'] !== 'Google') return { status: 403, headers };
    const url = request.url ?? '';
    if (!url.startsWith('/computeMetadata/v1/')) return { status: 404, headers };
    return { headers, ...inTree(tree, url.slice('/computeMetadata/v1/'.length)) };
  };
}

/** The managed identities of a machine: tokens by audience; the system-assigned one has no client id. */
export type AzureIdentities = readonly {
  readonly clientId?: string;
  readonly tokens: Readonly<Record<string, string>>;
}[];

/** Wants its header and a version, and answers JSON. */
export function startAzure(instance: object, identities: AzureIdentities = []): Promise<TestServer> {
  return startServer(azure(instance, identities));
}

function azure(instance: object, identities: AzureIdentities): Service {
  return (request) => {
    const url = new URL(request.url ?? '', 'http://azure');
    if (request.headers.metadata !== 'true')
      return { status: 400, body: '{"error":"Bad request. Required metadata header not specified"}' };
    if (request.headers['x-forwarded-for'] !== undefined) return { status: 400 };
    if (!/^\d{4}-\d{2}-\d{2}$/.test(url.searchParams.get('api-version') ?? '')) return { status: 400 };
    if (url.pathname === '/metadata/identity/oauth2/token') return azureToken(url, identities);
    return url.pathname === '/metadata/instance' ? { body: JSON.stringify(instance) } : { status: 404 };
  };
}

/** The services of three clouds behind one address: each is asked by its own paths only. */
export function startAllClouds(clouds: {
  readonly aws: MetadataTree;
  readonly gcp: MetadataTree;
  readonly azure: AzureIdentities;
}): Promise<TestServer> {
  const services: readonly (readonly [string, Service])[] = [
    ['/latest/', aws(clouds.aws)],
    ['/computeMetadata/', gcp(clouds.gcp)],
    ['/metadata/', azure({}, clouds.azure)],
  ];
  return startServer((request) => {
    const [, service] = services.find(([path]) => request.url?.startsWith(path)) ?? [];
    return service?.(request) ?? { status: 404 };
  });
}

/** As "How to use managed identities … to acquire an access token" has it: 400 where there is no such identity. */
function azureToken(url: URL, identities: AzureIdentities): Answer {
  const resource = url.searchParams.get('resource');
  if (resource === null) return { status: 400, body: '{"error":"invalid_resource"}' };
  const wanted = url.searchParams.get('client_id') ?? undefined;
  const identity = identities.find(({ clientId }) => clientId === wanted);
  const token = identity?.tokens[resource];
  if (token === undefined) {
    return { status: 400, body: '{"error":"invalid_request","error_description":"Identity not found"}' };
  }
  const expires = Math.floor(Date.now() / 1000) + 86_399;
  const body = { access_token: token, expires_in: '86399', expires_on: `${expires}`, resource, token_type: 'Bearer' };
  return { body: JSON.stringify(body) };
}

/** Wants nothing but its path. */
export function startOpenStack(metadata: object): Promise<TestServer> {
  return startServer(
    (request): Answer =>
      request.url === '/openstack/latest/meta_data.json' ? { body: JSON.stringify(metadata) } : { status: 404 },
  );
}
