import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { ApiCredential } from '../../src/host/cluster/api-server.ts';
import { requestOnce, type SingleRequest } from '../../src/host/http/request-once.ts';
import { type Identity, newAuthority } from './api-server.ts';
import { kubernetesRelease } from './kubernetes-release.ts';

export type Method = NonNullable<SingleRequest['method']>;

export interface KubeApiServer extends AsyncDisposable {
  readonly url: string;
  readonly certificateAuthority: string;
  /** A credential of the group `system:masters`. */
  readonly admin: ApiCredential;
  /** The same rights a kubelet of this name has. */
  node(name: string): ApiCredential;
  /** Any request, as JSON, by default of the administrator; throws where the answer is not 2xx. */
  ask(method: Method, path: string, body?: object, credential?: ApiCredential): Promise<unknown>;
  /** Waits until a path is served: one of a new definition is not at once. */
  until(path: string): Promise<void>;
  /** What a credential is answered: the HTTP status. */
  statusOf(
    credential: ApiCredential,
    method: Method,
    path: string,
    contentType?: string,
    body?: string,
  ): Promise<number>;
}

const ADMIN = 'admin-0123456789abcdef';
const NODES = ['w1', 'w2'];

/**
 * A real kube-apiserver with its etcd on loopback: RBAC, the node authorizer, NodeRestriction, service account
 * tokens. No controller and no kubelet.
 *
 * @param webhookClient what it proves itself with to webhooks, by an AdmissionConfiguration
 */
export async function startKubeApiServer(webhookClient?: Identity): Promise<KubeApiServer> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-apiserver-'));
  const at = (name: string): string => join(directory, name);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(at('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(at('sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
  const nodes = NODES.map((name) => `${nodeToken(name)},system:node:${name},${name},"system:nodes"`);
  writeFileSync(at('tokens.csv'), `${ADMIN},admin,admin,"system:masters"\n${nodes.join('\n')}\n`, { mode: 0o600 });
  const [client, peer, secure] = await freePorts(3);
  const started: ReturnType<typeof spawn>[] = [];
  const start = (program: string, args: readonly string[]): void => {
    const log = openSync(at('log'), 'a');
    started.push(spawn(program, args, { stdio: ['ignore', log, log], cwd: directory }));
  };
  const release = kubernetesRelease();
  if (release === undefined) throw new Error('there is no kube-apiserver: npm run lab -- build');
  start(release.etcd, [
    `--data-dir=${at('etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
  ]);
  start(join(release.programs, 'kube-apiserver'), [
    // As kubeadm has it.
    '--allow-privileged=true',
    `--etcd-servers=http://127.0.0.1:${client}`,
    ...release.options,
    `--secure-port=${secure}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--cert-dir=${at('certificates')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${at('sa.pub')}`,
    `--service-account-signing-key-file=${at('sa.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--token-auth-file=${at('tokens.csv')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--endpoint-reconciler-type=none',
    ...frontProxyArguments(directory),
    ...(webhookClient === undefined
      ? []
      : [`--admission-control-config-file=${writeAdmissionFiles(directory, webhookClient)}`]),
  ]);
  const stop = async (): Promise<void> => {
    const ended = started.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of started) child.kill('SIGKILL');
    await Promise.all(ended);
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const url = `https://127.0.0.1:${secure}`;
    // Self-signed: the server's certificate and that of its authority are in one file.
    const certificate = at('certificates/apiserver.crt');
    await until('the API server is ready', at('log'), async () => {
      if (!existsSync(certificate)) return false;
      const ca = readFileSync(certificate, 'utf8');
      const { status } = await ask(url, ca, ADMIN, 'GET', '/readyz');
      return status === 200;
    });
    return apiServerAt(url, readFileSync(certificate, 'utf8'), ADMIN, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The aggregation layer, as kubeadm sets it up (k/k cmd/kubeadm/app/phases/controlplane/manifests.go). */
function frontProxyArguments(directory: string): readonly string[] {
  const authority = newAuthority('front-proxy-ca');
  const { certificate, key } = authority.issue('front-proxy-client');
  const files = { 'front-proxy-ca.crt': authority.certificate, 'front-proxy-client.crt': certificate };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  writeFileSync(join(directory, 'front-proxy-client.key'), key, { mode: 0o600 });
  return [
    `--requestheader-client-ca-file=${join(directory, 'front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${join(directory, 'front-proxy-client.crt')}`,
    `--proxy-client-key-file=${join(directory, 'front-proxy-client.key')}`,
  ];
}

/** The files by which the API server knows its certificate for webhooks (docs/cluster-api.md, kubeadm). */
function writeAdmissionFiles(directory: string, { certificate, key }: Identity): string {
  const at = (name: string): string => join(directory, name);
  writeFileSync(at('webhook-client.crt'), certificate);
  writeFileSync(at('webhook-client.key'), key, { mode: 0o600 });
  // The service of a webhook has its own name there; `*` is every webhook, also one with a URL.
  const user = { 'client-certificate': at('webhook-client.crt'), 'client-key': at('webhook-client.key') };
  const kubeconfig = { apiVersion: 'v1', kind: 'Config', users: [{ name: '*', user }] };
  writeFileSync(at('webhooks.yaml'), JSON.stringify(kubeconfig), { mode: 0o600 });
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile: at('webhooks.yaml'),
  };
  writeFileSync(
    at('admission.yaml'),
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AdmissionConfiguration',
      plugins: [
        { name: 'MutatingAdmissionWebhook', configuration },
        { name: 'ValidatingAdmissionWebhook', configuration },
      ],
    }),
  );
  return at('admission.yaml');
}

/** An API server that runs; with the token of an administrator, and what ends it. */
export function apiServerAt(
  url: string,
  certificateAuthority: string,
  adminToken: string,
  stop: () => Promise<void>,
): KubeApiServer {
  const known = (token: string): ApiCredential => ({
    server: new URL(url),
    serverName: undefined,
    certificateAuthority,
    token: new Secret(token),
  });
  return {
    url,
    certificateAuthority,
    admin: known(adminToken),
    node: (name) => known(nodeToken(name)),
    async ask(method, path, body, credential = known(adminToken)) {
      const json = body === undefined ? undefined : JSON.stringify(body);
      const token = credential.token?.reveal() ?? '';
      const answer = await ask(url, certificateAuthority, token, method, path, 'application/json', json);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body);
    },
    async statusOf(credential, method, path, contentType = 'application/json', body) {
      const token = credential.token?.reveal() ?? '';
      return (await ask(url, certificateAuthority, token, method, path, contentType, body)).status;
    },
    async until(path) {
      await until(`${path} is served`, undefined, async () => {
        return (await ask(url, certificateAuthority, adminToken, 'GET', path)).status === 200;
      });
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function ask(
  url: string,
  ca: string,
  token: string,
  method: Method,
  path: string,
  contentType?: string,
  body?: string,
) {
  return await requestOnce(new URL(path, url), {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    },
    ca,
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(120_000),
  });
}

function nodeToken(name: string): string {
  return `node-0123456789abcdef-${name}`;
}

async function until(what: string, log: string | undefined, holds: () => Promise<boolean>): Promise<void> {
  for (let left = 360; left > 0; left -= 1) {
    // Not there yet: no connection.
    if (await holds().catch(() => false)) return;
    await pause(500);
  }
  throw new Error(
    `${what}: not within three minutes\n${log === undefined ? '' : readFileSync(log, 'utf8').slice(-3000)}`,
  );
}

/** Ports of loopback on which nothing listens at this moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            resolve(typeof address === 'object' && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
