import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_KUBECONFIG, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { ApiServerManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { CriContainer } from '../../host/cri/queries.ts';
import { requestOnce } from '../../host/http/request-once.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { logTail } from '../../host/services/log.ts';
import { processesOf, stillRunning } from './processes.ts';

/** The conditions for an API server, or another static pod, to count as running with its manifest. */
export interface ServingDemand {
  /** Of the container; default: the API server. */
  readonly container?: KubeadmPod;
  readonly manifest: ApiServerManifest;
  /** Earlier processes, which must have ended: `pid:start`. */
  readonly gone: readonly string[];
  readonly criSocket: string;
  /** When the manifest was written, in milliseconds since the epoch: containers that ended before do not count. */
  readonly sinceMs: number;
  /** Why the container does not work; undefined: it does. Default: /readyz of the API server. */
  readonly probe?: (signal: AbortSignal) => Promise<string | undefined>;
}

export type Serving = { readonly serves: true } | { readonly serves: false; readonly why: string };

const PAUSE_MS = 1_000;
const REQUEST_TIMEOUT_MS = 5_000;
/** How long it must keep serving: problems with what it reads late (webhooks, KMS keys) end it only then. */
const STEADY_MS = 4_000;
/** The kubelet restarts it with growing pauses; this number of restarts is not a coincidence. */
const MOST_ENDS = 3;
const LOG_BYTES = 16 * 1024;
const LOG_LINES = 8;

/**
 * Waits until the API server of a manifest runs in a new process, answers /readyz on its own port, and keeps doing so.
 * Stops early where its container ends repeatedly. Throws only the signal's reason.
 */
export async function waitUntilServing(
  host: QueryHost,
  demand: ServingDemand,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly waitingFor: (what: string) => void },
): Promise<Serving> {
  const end = performance.now() + options.timeoutMs;
  const ended = new Set<string>();
  let steady: { readonly process: string; readonly since: number } | undefined;
  for (;;) {
    const found = await look(host, demand, options.signal);
    const now = performance.now();
    if ('process' in found) {
      if (steady?.process !== found.process) steady = { process: found.process, since: now };
      if (now - steady.since >= STEADY_MS) return { serves: true };
    } else {
      steady = undefined;
      options.waitingFor(found.why);
      if (now > end) return { serves: false, why: found.why };
      // The kubelet keeps only the last of them.
      for (const { id, exitCode } of await endedContainers(host, demand)) if (exitCode !== 0) ended.add(id);
      if (ended.size >= MOST_ENDS) return { serves: false, why: `its container ended ${ended.size} times` };
    }
    await pause(PAUSE_MS, undefined, { signal: options.signal }).catch(() => options.signal.throwIfAborted());
  }
}

async function look(
  host: QueryHost,
  { manifest, gone, probe }: ServingDemand,
  signal: AbortSignal,
): Promise<{ readonly process: string } | { readonly why: string }> {
  const running = await processesOf(host, manifest.command);
  const process = running.find((one) => !gone.includes(one));
  if (process === undefined) return { why: 'its container to start' };
  // A stopping API server closes its listener at once and lives until its requests are done; until it has ended it may
  // be the one that answers.
  if ((await stillRunning(host, gone)).length > 0) return { why: 'the previous one to end' };
  const { endpoint } = manifest;
  const ask = probe ?? (endpoint === undefined ? undefined : () => askReadyz(host, endpoint, signal));
  const answer = await ask?.(signal);
  return answer === undefined ? { process } : { why: answer };
}

/**
 * undefined = ready. The query uses its own port and the kubelet's credential, because anonymous requests may be
 * refused. An API server that denies access to /readyz (a cluster without the role system:public-info-viewer) counts as
 * serving.
 */
export async function askReadyz(
  host: QueryHost,
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    if (credential === undefined) return `${KUBELET_KUBECONFIG} does not exist`;
    const { status, body } = await requestOnce(new URL(`https://${endpoint}/readyz`), {
      ca: credential.certificateAuthority,
      cert: credential.certificate,
      key: credential.key.reveal(),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    return status === 200 || status === 403
      ? undefined
      : `https://${endpoint}/readyz answered ${status} ${firstFailed(body)}`.trim();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof KubeconfigUnusable) return error.message;
    if (deadline.aborted) return `https://${endpoint}/readyz did not answer within ${REQUEST_TIMEOUT_MS / 1000} s`;
    return `https://${endpoint}/readyz: ${errorMessage(error)}`;
  }
}

/** `[-]etcd failed: reason withheld` */
function firstFailed(body: string): string {
  return body.split('\n').find((line) => line.startsWith('[-]')) ?? '';
}

/** The last output of this API server's containers, newest first; for evidence. */
export async function lastLogLines(host: QueryHost, demand: ServingDemand): Promise<readonly string[]> {
  const [newest] = await endedContainers(host, demand);
  if (newest === undefined) return [];
  const lines = await logTail(host, newest.logPath, LOG_BYTES);
  // containerd's format of a log: time, stream, tag, text (k/k pkg/kubelet/kuberuntime/logs).
  const words = lines.map((line) => line.replace(/^\S+ (?:stdout|stderr) [FP] /, '').trim());
  // The error precedes its help text.
  const errors = words.filter((line) =>
    /^(Error:|[EF]\d{4} |panic:|invalid argument)|unknown flag|"command failed"/.test(line),
  );
  return (errors.length > 0 ? errors : words).slice(-LOG_LINES);
}

async function endedContainers(
  host: QueryHost,
  { criSocket, sinceMs, container = 'kube-apiserver' }: ServingDemand,
): Promise<readonly CriContainer[]> {
  try {
    const ended = await host.cri(criSocket).exitedContainers();
    return ended.filter(({ name, finishedAtMs }) => name === container && finishedAtMs >= sinceMs);
  } catch {
    // If the runtime does not answer, wait until the timeout.
    return [];
  }
}
