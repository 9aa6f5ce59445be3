import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { selfSigned } from './certificates.ts';

/** A certificate and its key, both PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority that issues as a cluster's does. */
export interface Authority extends Identity {
  /** @param days for which it is valid; default: an hour */
  issue(commonName: string, addresses?: readonly string[], days?: number): Identity;
}

const NOT_BEFORE = new Date(Date.now() - 60_000);
const NOT_AFTER = new Date(Date.now() + 3_600_000);

function keyPair(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** Makes a certificate authority of its own. */
export function newAuthority(commonName = 'kubernetes'): Authority {
  const { privateKey, publicKey } = keyPair();
  const validity = { notBefore: NOT_BEFORE, notAfter: NOT_AFTER };
  return {
    certificate: selfSigned({ key: privateKey, publicKey, ...validity, authority: true, commonName }),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    issue(subject, addresses, days) {
      const pair = keyPair();
      const notAfter = days === undefined ? NOT_AFTER : new Date(Date.now() + days * 86_400_000);
      const certificate = selfSigned({
        key: pair.privateKey,
        publicKey: pair.publicKey,
        ...{ ...validity, notAfter },
        authority: false,
        commonName: subject,
        issuer: { commonName, key: privateKey },
        ...(addresses === undefined ? {} : { addresses }),
      });
      return { certificate, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
    },
  };
}

/** An object the server has, an HTTP status it answers with, or nothing at all. */
export type ApiAnswer = object | { readonly status: number } | 'silence';

/** A request, and the common name of its client's certificate. */
export interface ApiCall {
  readonly method: string;
  readonly client: string;
  readonly body: string;
}

export interface ApiServer extends AsyncDisposable {
  readonly url: string;
  /** Path of every request that came with an accepted client certificate. */
  readonly requests: readonly string[];
  /** Shows this certificate to new clients. */
  shows(identity: Identity): void;
}

/**
 * A real HTTPS server on 127.0.0.1 that asks for a client certificate of its authority, as kube-apiserver does.
 *
 * @param objects by path; what is not there is answered with a Status `NotFound`
 */
export async function startApiServer(
  authority: Authority,
  objects: (path: string, request: ApiCall) => ApiAnswer | undefined,
  addresses: readonly string[] = ['127.0.0.1'],
): Promise<ApiServer> {
  const { certificate, key } = authority.issue('kube-apiserver', addresses);
  const requests: string[] = [];
  const sockets = new Set<Duplex>();
  const server = createServer(
    { cert: certificate, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false },
    async (request, response) => {
      const path = request.url ?? '';
      const sent = (await request.toArray()).join('');
      // kube-apiserver lets any certificate through the handshake and answers 401 (k/k apiserver request/x509).
      const authorized = request.socket instanceof TLSSocket && request.socket.authorized;
      if (authorized) requests.push(path);
      const client = request.socket instanceof TLSSocket ? (request.socket.getPeerCertificate().subject?.CN ?? '') : '';
      const call = { method: request.method ?? '', client: String(client), body: sent };
      const answer = authorized ? objects(path, call) : { status: 401 };
      if (answer === 'silence') return;
      const status =
        answer === undefined
          ? 404
          : 'status' in answer && typeof answer.status === 'number'
            ? answer.status
            : request.method === 'POST'
              ? 201
              : 200;
      const reasons: Readonly<Record<number, string>> = {
        401: 'Unauthorized',
        403: 'Forbidden',
        404: 'NotFound',
        409: 'Conflict',
      };
      const body =
        status === 200 || status === 201
          ? answer
          : { kind: 'Status', code: status, reason: reasons[status], message: `status ${status}` };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
  );
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const port = await listen(server);
  return {
    url: `https://127.0.0.1:${port}`,
    requests,
    shows: ({ certificate: cert, key: pem }) => server.setSecureContext({ cert, key: pem, ca: authority.certificate }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface Healthz extends AsyncDisposable {
  readonly port: number;
  /** What it answers from now on. */
  status: number;
}

/** The kubelet's health endpoint. */
export async function startHealthz(status = 200): Promise<Healthz> {
  const server = createPlainServer((request, response) => {
    response.writeHead(request.url === '/healthz' ? healthz.status : 404).end();
  });
  const healthz: Healthz = {
    port: await listen(server),
    status,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return healthz;
}

async function listen(server: ReturnType<typeof createPlainServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A kubeconfig in kubeadm's form, with everything inline, or with the client's certificate and key in one file. */
export function kubeconfig(
  server: string,
  authority: string,
  client: Identity | { readonly file: string } | { readonly token: string } | { readonly exec: string },
): string {
  const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
  const user =
    'file' in client
      ? `client-certificate: ${client.file}\n    client-key: ${client.file}`
      : 'token' in client
        ? `token: ${client.token}`
        : 'exec' in client
          ? `exec: {apiVersion: client.authentication.k8s.io/v1, command: ${client.exec}}`
          : `client-certificate-data: ${base64(client.certificate)}\n    client-key-data: ${base64(client.key)}`;
  return `apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    certificate-authority-data: ${base64(authority)}
    server: ${server}
contexts:
- name: default@kubernetes
  context: {cluster: kubernetes, user: default}
current-context: default@kubernetes
users:
- name: default
  user:
    ${user}
`;
}

/** What a test says of a Node; the rest is as the kubelet of the machine in `facts()` reports it. */
export interface NodeWish {
  readonly name?: string;
  /** `v1.35.4` */
  readonly kubeletVersion?: string;
  readonly unschedulable?: boolean;
  readonly uid?: string;
  readonly machineID?: string;
  readonly bootID?: string;
  readonly systemUUID?: string;
  readonly providerID?: string;
  readonly ready?: 'True' | 'False' | 'Unknown';
  /** Of the Ready condition. */
  readonly message?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A Node as the API server returns it. */
export function nodeObject(wish: NodeWish = {}): object {
  const { machineID = '0123456789abcdef0123456789abcdef', bootID = '11111111-2222-3333-4444-555555555555' } = wish;
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name: wish.name ?? 'node-1', uid: wish.uid ?? 'uid-of-node-1', labels: wish.labels ?? {} },
    spec: {
      ...(wish.providerID === undefined ? {} : { providerID: wish.providerID }),
      ...(wish.unschedulable === undefined ? {} : { unschedulable: wish.unschedulable }),
    },
    status: {
      nodeInfo: {
        machineID,
        bootID,
        ...(wish.systemUUID === undefined ? {} : { systemUUID: wish.systemUUID }),
        ...(wish.kubeletVersion === undefined ? {} : { kubeletVersion: wish.kubeletVersion }),
      },
      conditions: [
        { type: 'MemoryPressure', status: 'False' },
        ...(wish.ready === undefined
          ? []
          : [
              {
                type: 'Ready',
                status: wish.ready,
                reason: 'KubeletNotReady',
                message: wish.message ?? 'cni plugin not initialized',
              },
            ]),
      ],
    },
  };
}
