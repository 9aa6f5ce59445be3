import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { parse, parseAllDocuments } from 'yaml';
import { bundleTranslator } from '../../scripts/translator/bundle.ts';
import { TRANSLATOR_IMAGE } from '../../scripts/translator/image.ts';
import type { ApiCredential } from '../../src/host/cluster/api-server.ts';
import { type Identity, kubeconfig, newAuthority } from './api-server.ts';
import type { KubeApiServer } from './kube-apiserver.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const BASE = join(ROOT, 'packaging/translator/base');
/** As the image starts it. */
const NODE_FLAGS = TRANSLATOR_IMAGE.entrypoint.filter((word) => word.startsWith('--'));
const PROGRAM = 'translator.cjs';
const SYSTEM = 'machineadm-system';
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
/** No kubelet and no cert-manager runs here: pods are processes, and the certificate is issued below. */
const NOT_HERE: ReadonlySet<string> = new Set([
  'Deployment',
  'PodDisruptionBudget',
  'Service',
  'Certificate',
  'Issuer',
]);
/** Who may call the translator: the API server has a certificate of this authority. */
const CALLERS = newAuthority('callers');
const CALLER = 'kube-apiserver';
/** For `startKubeApiServer`; with another name, a client that the authority knows and that is not the API server. */
export const webhookClient = (name = CALLER): Identity => CALLERS.issue(name);

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly webhooks?: readonly {
    readonly clientConfig: { readonly service?: { readonly path?: string }; readonly url?: string };
  }[];
  readonly spec?: object;
}

function pointedTo(port: number, authority: string, manifest: Manifest): Manifest {
  const caBundle = Buffer.from(authority).toString('base64');
  if (manifest.kind === 'ExtensionConfig') {
    const metadata = { name: manifest.metadata.name };
    return {
      ...manifest,
      metadata,
      spec: { ...manifest.spec, clientConfig: { url: `https://localhost:${port}`, caBundle } },
    };
  }
  if (manifest.webhooks === undefined) return manifest;
  const webhooks = manifest.webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { url: `https://localhost:${port}${webhook.clientConfig.service?.path}`, caBundle },
    // A machine that runs many tests at once is slow: nothing here is to depend on that.
    timeoutSeconds: 30,
  }));
  return { ...manifest, webhooks };
}

/** Manifests of the kustomize base, in its order. */
function baseManifests(): readonly Manifest[] {
  const { resources }: { resources: string[] } = parse(readFileSync(join(BASE, 'kustomization.yaml'), 'utf8'));
  return resources.flatMap((file) =>
    parseAllDocuments(readFileSync(join(BASE, file), 'utf8')).map((document): Manifest => document.toJS()),
  );
}

function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${group}${within}/${`${kind.toLowerCase()}s`.replace(/ys$/, 'ies')}`;
}

/** Applies the policies that are optional. An API server enforces them a moment later. */
export async function applyPolicies(server: KubeApiServer): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(join(BASE, '../policies.yaml'), 'utf8'))) {
    const policy: Manifest = document.toJS();
    await server.ask('POST', pathOf(policy), policy);
  }
}

/** A replica of the translator: its own process, with the rights of its ServiceAccount. */
export interface Replica {
  readonly pid: number;
  readonly webhookPort: number;
  readonly healthPort: number;
  /** All lines of its log so far, parsed. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** The text of an answer of its health port. */
  get(path: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Ends it by a signal; gives its exit code. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** The translator installed in an API server by its own manifests, except that pods are processes and the Service is a proxy. */
export class InstalledTranslator implements AsyncDisposable {
  readonly server: KubeApiServer;
  readonly directory: string;
  /** Where the webhook configuration points; each connection goes to the first replica that accepts it. */
  readonly #proxy: TcpProxy;
  readonly #authority: string;
  readonly #replicas: Replica[] = [];

  private constructor(server: KubeApiServer, directory: string, proxy: TcpProxy, authority: string) {
    this.server = server;
    this.directory = directory;
    this.#proxy = proxy;
    this.#authority = authority;
  }

  /** A manifest as it is created here: its webhooks lead to the replicas. */
  pointed(manifest: Manifest): Manifest {
    return pointedTo(this.#proxy.port, this.#authority, manifest);
  }

  /** @param namespaces that contain clusters; the roles for their Secrets and reports are bound there */
  static async install(server: KubeApiServer, namespaces: readonly string[]): Promise<InstalledTranslator> {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-translator-'));
    // As in the image: it starts in a fraction of the time that the sources take, in each of its two threads.
    await bundleTranslator(ROOT, directory);
    const proxy = await startProxy();
    const authority = newAuthority('translator');
    const { certificate, key } = authority.issue('translator', ['localhost', `machineadm-translator.${SYSTEM}.svc`]);
    mkdirSync(join(directory, 'tls'));
    writeFileSync(join(directory, 'tls/tls.crt'), certificate);
    writeFileSync(join(directory, 'tls/tls.key'), key);
    writeFileSync(join(directory, 'callers.crt'), CALLERS.certificate);
    for (const manifest of baseManifests()) {
      if (NOT_HERE.has(manifest.kind)) continue;
      await server.ask('POST', pathOf(manifest), pointedTo(proxy.port, authority.certificate, manifest));
    }
    for (const namespace of namespaces) {
      for (const name of ['machineadm-translator-reports', 'machineadm-translator-namespace']) {
        await server.ask('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
          metadata: { name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: [{ kind: 'ServiceAccount', namespace: SYSTEM, name: 'machineadm-translator' }],
        });
      }
    }
    const token = await accountToken(server);
    writeFileSync(join(directory, 'kubeconfig'), kubeconfig(server.url, server.certificateAuthority, { token }), {
      mode: 0o600,
    });
    return new InstalledTranslator(server, directory, proxy, authority.certificate);
  }

  /** The credential of its ServiceAccount. */
  async credential(): Promise<ApiCredential> {
    return { ...this.server.admin, token: new Secret(await accountToken(this.server)) };
  }

  writeProfiles(text: string): void {
    writeFileSync(join(this.directory, 'profiles.yaml'), text);
  }

  /** Starts a replica and waits until it is ready. Further arguments override those of the test. */
  async start(identity: string, ...more: readonly string[]): Promise<Replica> {
    const args = [
      `--kubeconfig=${join(this.directory, 'kubeconfig')}`,
      `--namespace=${SYSTEM}`,
      `--identity=${identity}`,
      `--profiles=${join(this.directory, 'profiles.yaml')}`,
      '--bind-address=127.0.0.1',
      '--webhook-port=0',
      '--health-port=0',
      `--certificate-directory=${join(this.directory, 'tls')}`,
      ...(more.some((one) => one.startsWith('--caller=')) ? [] : this.#clientCertificate()),
      '--provider-user=admin',
      '--check-interval=1',
      '--budget=20',
      '--deadline=28',
      '--lease-duration=3',
      '--shutdown-delay=0',
      ...more,
    ];
    const replica = await startReplica(join(this.directory, PROGRAM), args);
    this.#replicas.push(replica);
    this.#proxy.targets.push(replica.webhookPort);
    return replica;
  }

  #clientCertificate(): readonly string[] {
    const authorities = join(this.directory, 'callers.crt');
    return ['--caller=ClientCertificate', `--caller-ca=${authorities}`, `--caller-name=${CALLER}`];
  }

  /** Points the webhook to another address of loopback: `undefined` is the replicas. */
  pointTo(ports: readonly number[] | undefined): void {
    this.#proxy.targets.splice(0, Infinity, ...(ports ?? this.#replicas.map(({ webhookPort }) => webhookPort)));
    this.#proxy.drop();
  }

  /** Removes a replica that was ended from the proxy, as a Service does. */
  forget(replica: Replica): void {
    this.#replicas.splice(this.#replicas.indexOf(replica), 1);
    this.pointTo(undefined);
  }

  /** The webhook configuration in the API server. */
  async webhook(): Promise<{ readonly caBundle: string }> {
    const answer = await this.server.ask('GET', `${WEBHOOKS}/machineadm-translator`);
    const { webhooks } = answer as { webhooks: { clientConfig: { caBundle?: string } }[] };
    return { caBundle: Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString() };
  }

  /** Writes authorities into the webhook configuration. */
  async trust(authorities: string): Promise<void> {
    const path = '/webhooks/0/clientConfig/caBundle';
    const patch = [{ op: 'add', path, value: Buffer.from(authorities).toString('base64') }];
    const status = await this.server.statusOf(
      this.server.admin,
      'PATCH',
      `${WEBHOOKS}/machineadm-translator`,
      'application/json-patch+json',
      JSON.stringify(patch),
    );
    if (status !== 200) throw new Error(`the webhook configuration: ${status}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.end('SIGKILL')));
    await this.#proxy.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

async function accountToken(server: KubeApiServer): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM}/serviceaccounts/machineadm-translator/token`;
  const { status } = (await server.ask('POST', path, { spec: {} })) as { status: { token: string } };
  return status.token;
}

async function startReplica(program: string, args: readonly string[]): Promise<Replica> {
  const child: ChildProcess = spawn(process.execPath, [...NODE_FLAGS, program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...Object.fromEntries(TRANSLATOR_IMAGE.environment.map((one) => one.split('='))) },
  });
  const log: Record<string, unknown>[] = [];
  let errors = '';
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) log.push(JSON.parse(line));
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = once(child, 'exit');
  const isReady = () => log.find(({ message }) => message === 'ready');
  await until('the translator is ready', () => {
    if (child.exitCode !== null) throw new Error(`the translator ended: ${errors}${JSON.stringify(log)}`);
    return isReady() !== undefined;
  });
  const ready = isReady();
  const healthPort = Number(ready?.healthPort);
  return {
    pid: child.pid ?? 0,
    webhookPort: Number(ready?.webhookPort),
    healthPort,
    log,
    async get(path) {
      const response = await fetch(`http://127.0.0.1:${healthPort}${path}`);
      return { status: response.status, text: await response.text() };
    },
    async end(signal) {
      child.kill(signal);
      await exited;
      return child.exitCode;
    },
  };
}

interface TcpProxy {
  readonly port: number;
  /** Ports of loopback, tried in turn. */
  readonly targets: number[];
  /** Ends all connections. */
  drop(): void;
  close(): Promise<void>;
}

async function startProxy(): Promise<TcpProxy> {
  const targets: number[] = [];
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    const track = (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    };
    track(client);
    turn += 1;
    const order = targets.map((_, index) => targets[(index + turn) % targets.length]);
    const attempt = (): void => {
      const port = order.shift();
      if (port === undefined) {
        client.destroy();
        return;
      }
      const upstream = connect(port, '127.0.0.1');
      track(upstream);
      upstream.once('error', () => (upstream.readyState === 'open' ? client.destroy() : attempt()));
      upstream.once('connect', () => {
        client.pipe(upstream).pipe(client);
        client.once('close', () => upstream.destroy());
        upstream.once('close', () => client.destroy());
      });
    };
    attempt();
  });
  // The name localhost may be either; the API server tries both.
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    targets,
    drop,
    async close() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits for a condition, which is looked at every so often; the limit is for hangs. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, everyMs = 100): Promise<void> {
  for (const end = Date.now() + 180_000; Date.now() < end; ) {
    if (await holds()) return;
    await sleep(everyMs);
  }
  throw new Error(`${what}: not within three minutes`);
}
