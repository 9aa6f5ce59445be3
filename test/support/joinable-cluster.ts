import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Authority } from './api-server.ts';

export interface ClusterState {
  /** Whether cluster-info is signed for the token abcdef. */
  readonly signed: boolean;
  /** The signature of cluster-info for that token; default: one that no secret makes. */
  readonly signature?: (kubeconfig: string) => string;
  /** Whether the uploaded certificates are there. */
  readonly certificates: boolean;
  /** PEM that cluster-info names in the place of the authority. */
  readonly ca?: string;
  /** By name. */
  readonly nodes?: Readonly<Record<string, object>>;
}

/** An API server as a machine meets it that has no certificate yet. */
export async function startJoinableCluster(authority: Authority, state: ClusterState) {
  const { certificate, key } = authority.issue('kube-apiserver', ['127.0.0.1']);
  const bearers: string[] = [];
  const server = createServer({ cert: certificate, key }, (request, response) => {
    if (request.headers.authorization !== undefined) bearers.push(request.headers.authorization);
    if (request.url?.endsWith('/cluster-info')) {
      const encoded = Buffer.from(state.ca ?? authority.certificate).toString('base64');
      const kubeconfig = `clusters: [{name: "", cluster: {server: x, certificate-authority-data: ${encoded}}}]`;
      const data = {
        kubeconfig,
        ...(state.signed ? { 'jws-kubeconfig-abcdef': state.signature?.(kubeconfig) ?? 'x..y' } : {}),
      };
      return void response.writeHead(200).end(JSON.stringify({ data }));
    }
    const node = /\/nodes\/(.+)$/.exec(request.url ?? '')?.[1];
    const object = node === undefined ? state.certificates && {} : state.nodes?.[node];
    if (object) return void response.writeHead(200).end(JSON.stringify(object));
    response.writeHead(404).end(JSON.stringify({ kind: 'Status', reason: 'NotFound' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    bearers,
    endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
