import { X509Certificate } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { asAnotherPod, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { servedCertificate } from '../../host/cluster/served-certificate.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { probeControlPlane } from '../control-plane-health.ts';
import { argumentOf, localEtcd } from '../local-etcd.ts';
import { podProcesses } from './certificate-renewal.ts';
import { manifestPath } from './kept-state.ts';

const PAUSE_MS = 1_000;

export interface RestartWatch {
  /** For one pod, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  waitingFor(what: string | undefined): void;
}

/** Has the kubelet replace a static pod by another with the same content. */
export async function replacePod(host: Host, component: KubeadmPod): Promise<void> {
  const path = manifestPath(component);
  const [source, stat] = [await host.readText(path), await host.stat(path)];
  if (source === undefined || stat === undefined) return;
  const content = await asAnotherPod(source, new Date());
  await host.writeFile({ path, content, mode: stat.mode, uid: stat.uid, gid: stat.gid });
  await host.sync(path);
}

/**
 * Waits until a static pod runs in a process that is none of these, and all of the control plane of this machine is healthy.
 * Returns why it is not.
 *
 * @param gone `pid:start`
 */
export async function untilReplaced(
  host: QueryHost,
  component: KubeadmPod,
  gone: readonly string[],
  { timeoutMs, signal, waitingFor }: RestartWatch,
): Promise<string | undefined> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const why = await whyNotReplaced(host, component, gone, signal);
    if (why === undefined) {
      waitingFor(undefined);
      return undefined;
    }
    waitingFor(`${component} to work after its restart: ${why}`);
    if (performance.now() > end) return why;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

async function whyNotReplaced(
  host: QueryHost,
  component: KubeadmPod,
  gone: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const running = await podProcesses(host, component);
  if (running.some((process) => gone.includes(process))) return `the previous ${component} has not ended`;
  if (running.length === 0) return `${component} does not run`;
  return (await probeControlPlane(host, [component], signal))?.why;
}

/**
 * Waits until the server of a static pod shows the certificate of its file: an API server that was not restarted reads that
 * again every minute. Returns why it does not.
 */
export async function untilServed(
  host: QueryHost,
  component: KubeadmPod,
  { timeoutMs, signal, waitingFor }: RestartWatch,
): Promise<string | undefined> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const why = await whyServesOther(host, component, signal);
    if (why === undefined) {
      waitingFor(undefined);
      return undefined;
    }
    waitingFor(`${component} to serve its certificate: ${why}`);
    if (performance.now() > end) return why;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/**
 * Why the server of a static pod does not show the certificate of its file; undefined: it does, or it has none that kubeadm
 * manages.
 */
async function whyServesOther(
  host: QueryHost,
  component: KubeadmPod,
  signal: AbortSignal,
): Promise<string | undefined> {
  const manifest = await readManifest((await host.readText(manifestPath(component))) ?? '');
  if (manifest === undefined) return undefined;
  const { command } = manifest;
  const path = argumentOf(command, component === 'etcd' ? 'cert-file' : 'tls-cert-file');
  if (path === undefined || (component !== 'etcd' && component !== 'kube-apiserver')) return undefined;
  const place = component === 'etcd' ? etcdPlace(command) : apiServerPlace(command);
  const pem = await host.readText(path);
  if (place === undefined || pem === undefined) return `${path} cannot be compared with what ${component} serves`;
  const client = component === 'etcd' ? await localEtcd(host, manifest) : undefined;
  const served = await servedCertificate(place, client, signal);
  if ('why' in served) return served.why;
  return served.fingerprint256 === new X509Certificate(pem).fingerprint256
    ? undefined
    : `${place.host}:${place.port} serves another certificate than that in ${path}`;
}

/** kubeadm lets it listen on all addresses, unless the document says otherwise. */
function apiServerPlace(command: readonly string[]) {
  const bound = argumentOf(command, 'bind-address') ?? '';
  const host = ['', '0.0.0.0', '::'].includes(bound) ? '127.0.0.1' : bound;
  return { host, port: Number(argumentOf(command, 'secure-port') ?? '6443') };
}

function etcdPlace(command: readonly string[]) {
  const url = URL.parse((argumentOf(command, 'listen-client-urls') ?? '').split(',')[0] ?? '');
  if (url === null) return undefined;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
}
