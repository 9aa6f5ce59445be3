import { once } from 'node:events';
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Identity } from './api-server.ts';
import { sha256, smallestImage } from './image-archive.ts';

/** What a registry asks for before it gives an image out. */
export interface RegistryWish {
  /** Speaks TLS with it; absent: plain http. */
  readonly identity?: Identity;
  /** `user:password`; absent: anybody. */
  readonly credentials?: string;
  /** True: credentials are traded for a token first, as Docker Hub does (distribution/spec, token authentication). */
  readonly tokens?: boolean;
  /** PEM of the authority whose client certificates are asked for. */
  readonly clientAuthority?: string;
  /** The address that it listens on; default 127.0.0.1. */
  readonly address?: string;
  /** Where the API begins; default `/v2`. */
  readonly prefix?: string;
}

export interface ImageRegistry extends AsyncDisposable {
  /** `https://address:port` or http. */
  readonly url: string;
  /** `METHOD path` of every request, in order. */
  readonly requests: string[];
  /** Id of the image that it holds under any name and tag. */
  readonly id: string;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** A registry that holds one small image, under every name and tag (distribution/spec, pulling). */
export async function startRegistry(wish: RegistryWish = {}): Promise<ImageRegistry> {
  const requests: string[] = [];
  const { identity, address = '127.0.0.1', prefix = '/v2', clientAuthority } = wish;
  const image = smallestImage(`registry ${Math.random()}`);
  const blobs = new Map<string, { readonly content: Buffer; readonly type: string }>();
  const put = (content: string | Uint8Array, type: string) => {
    const digest = `sha256:${sha256(content)}`;
    blobs.set(digest, { content: Buffer.from(content), type });
    return { mediaType: type, digest, size: Buffer.from(content).length };
  };
  const manifest = put(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: put(image.config, 'application/vnd.oci.image.config.v1+json'),
      layers: [put(image.layer, 'application/vnd.oci.image.layer.v1.tar')],
    }),
    MANIFEST,
  );
  const answer: RequestListener = (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    requests.push(`${request.method ?? ''} ${pathname}`);
    if (pathname === '/token') return giveToken(request, response, wish);
    if (!isLetIn(request, wish))
      return refuse(response, wish, `${identity ? 'https' : 'http'}://${request.headers.host}`);
    const [, reference] = /\/(?:manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    const digest = reference?.startsWith('sha256:') === true ? reference : manifest.digest;
    const blob = blobs.get(digest);
    if (
      !pathname.startsWith(`${prefix}/`) ||
      pathname.startsWith(`${prefix}/v2/`) ||
      reference === undefined ||
      blob === undefined
    ) {
      return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"errors":[]}');
    }
    response.writeHead(200, {
      'content-type': blob.type,
      'content-length': blob.content.length,
      'docker-content-digest': digest,
    });
    response.end(request.method === 'HEAD' ? undefined : blob.content);
  };
  const server =
    identity === undefined
      ? createPlainServer(answer)
      : createServer(
          {
            cert: identity.certificate,
            key: identity.key,
            ...(clientAuthority === undefined ? {} : { ca: clientAuthority, requestCert: true }),
          },
          answer,
        );
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${identity === undefined ? 'http' : 'https'}://${address}:${port}`,
    requests,
    id: image.id,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const TOKEN = 'a-token-of-the-registry';

function giveToken(request: IncomingMessage, response: ServerResponse, { credentials }: RegistryWish): void {
  const known = credentials === undefined || request.headers.authorization === basic(credentials);
  response.writeHead(known ? 200 : 401, { 'content-type': 'application/json' });
  response.end(known ? JSON.stringify({ token: TOKEN }) : '{"errors":[]}');
}

function isLetIn(request: IncomingMessage, { credentials, tokens }: RegistryWish): boolean {
  const given = request.headers.authorization;
  if (tokens === true) return given === `Bearer ${TOKEN}`;
  return credentials === undefined || given === basic(credentials);
}

function refuse(response: ServerResponse, { tokens }: RegistryWish, url: string): void {
  const challenge =
    tokens === true ? `Bearer realm="${url}/token",service="test",scope="repository:any:pull"` : 'Basic realm="test"';
  response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': challenge }).end('{"errors":[]}');
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
