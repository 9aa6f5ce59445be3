import { dirname } from 'node:path/posix';
import { setTimeout as sleep } from 'node:timers/promises';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  API_SERVER_DIRECTORY_MODE,
  API_SERVER_FILES,
  AUTHORIZATION_DIRECTORY,
  ENCRYPTION_CONFIG,
  KUBELET_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { reconfiguration } from '@machineadm/kubeadm/api-server/cluster-configuration.ts';
import { requireReadable } from '@machineadm/kubeadm/api-server/encryption-change.ts';
import {
  API_SERVER_MANIFEST,
  API_SERVER_MANIFEST_MODE,
  type ApiServerManifest,
  asAnotherPod,
  isSamePod,
  readManifest,
} from '@machineadm/kubeadm/api-server/manifest.ts';
import type { RequestedNames } from '@machineadm/kubeadm/components.ts';
import { getObject } from '../../host/cluster/api-server.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { Host, NewFile } from '../../host/seam/host.ts';
import type { LocatedKubernetes } from '../runtime-socket.ts';
import { requireKmsSockets } from './kms-sockets.ts';
import { processesOf } from './processes.ts';
import { findPatches, recordInCluster, renderManifest } from './render-manifest.ts';
import { lastLogLines, type ServingDemand, waitUntilServing } from './serving.ts';
import {
  beginTransaction,
  contentBefore,
  readTransaction,
  restore,
  TRANSACTION,
  type Transaction,
} from './transaction.ts';
import { writeApiServerFile } from './write-file.ts';

export interface Reconfiguration {
  readonly kubernetes: LocatedKubernetes;
  readonly kubeadm: Version;
  readonly nodeName: string;
  readonly files: readonly NewFile[];
  /** Files that an earlier document required and this one does not. */
  readonly leftover: readonly string[];
  /** The settings that an earlier document requested. */
  readonly before: RequestedNames;
  /**
   * True where the journal shows that a run of this machine was killed during a reconfiguration: the saved files are
   * then this machine's.
   */
  readonly resumes: boolean;
}

export interface ReconfigurationRun {
  readonly signal: AbortSignal;
  readonly waitingFor: (what: string | undefined) => void;
}

/** kubeadm's own timeout for a control plane (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go). */
const DEFAULT_TIMEOUT_MS = 4 * 60_000;
/** How long a running API server may refuse before that counts as its answer. */
const ANSWER_MS = 30_000;

/**
 * Reconfigures the API server of a running control plane. Everything that can be checked is checked before any change.
 * From then on the previous state is kept on disk until the new API server is seen serving, and restored when it does
 * not serve. After a kill the next run continues with the state saved then.
 *
 * @throws MachineadmError `APIServerNotReconfigured` with the output of its container; the errors of the checks
 */
export async function reconfigure(host: Host, wish: Reconfiguration, run: ReconfigurationRun): Promise<void> {
  const { files } = wish;
  const killed = wish.resumes ? await readTransaction(host) : undefined;
  const { oldManifest, cluster, rendered } = await prepare(host, wish, killed, run).catch(async (error: unknown) => {
    // A reconfiguration that was killed half-way is settled even if this document is refused.
    if (killed !== undefined) await putBack(host, killed);
    throw error;
  });
  if (killed !== undefined || !(await isInPlace(host, rendered, files))) {
    const kept =
      killed ??
      (await beginTransaction(host, [...(await knownPaths(host)), API_SERVER_MANIFEST], {
        cluster,
        processes: await processesOf(host, oldManifest.command),
      }));
    await change(host, wish, kept, oldManifest, rendered, run);
    await removeUnasked(host, wish, kept);
  } else {
    // Their modes may differ.
    for (const file of files) await host.writeFile(file);
  }
  await recordInCluster(host, run.signal);
  for (const path of wish.leftover) await host.removeFile(path);
  await host.removeFile(TRANSACTION);
  await host.sync(dirname(TRANSACTION));
  run.waitingFor(undefined);
}

interface Prepared {
  readonly oldManifest: ApiServerManifest;
  /** ClusterConfiguration, YAML. */
  readonly cluster: string;
  readonly rendered: string;
}

/** Checks everything, and renders the new manifest. Changes nothing in use. */
async function prepare(
  host: Host,
  wish: Reconfiguration,
  killed: Transaction | undefined,
  run: ReconfigurationRun,
): Promise<Prepared> {
  const { kubernetes, kubeadm, before, nodeName } = wish;
  const old =
    killed === undefined ? await host.readText(API_SERVER_MANIFEST) : contentBefore(killed, API_SERVER_MANIFEST);
  const oldManifest = old === undefined ? undefined : await readManifest(old);
  if (oldManifest === undefined) throw noManifest();
  const cluster = killed?.cluster ?? (await clusterConfiguration(host, run));
  await requireKmsSockets(host, kubernetes);
  await requireReadableEncryption(host, oldManifest, killed, wish.files);
  const { log } = kubernetes.controlPlane.apiServer.audit ?? {};
  if (log !== undefined) await host.makeDirectory(dirname(log.path), API_SERVER_DIRECTORY_MODE);
  const patchesDirectory = await findPatches(host, kubernetes, kubeadm);
  const { endpoint } = oldManifest;
  const wanted = {
    kubernetes,
    kubeadm,
    patchesDirectory,
    cluster: await foreignYaml(cluster),
    pods: [{ pod: 'kube-apiserver' as const, before }],
    nodeName,
    endpoint,
  };
  const configuration = reconfiguration(wanted);
  const rendered = await renderManifest(host, configuration, {
    kubeadm,
    patchesDirectory,
    now: oldManifest,
    signal: run.signal,
  });
  return { oldManifest, cluster, rendered };
}

/** Every path at which our documents may put a file of the API server. */
async function knownPaths(host: Host): Promise<readonly string[]> {
  const authorizers = (await host.list(AUTHORIZATION_DIRECTORY)) ?? [];
  return [...API_SERVER_FILES, ...authorizers.map((name) => `${AUTHORIZATION_DIRECTORY}/${name}`)];
}

/** Files that a killed run wrote for another document. */
async function removeUnasked(host: Host, { files }: Reconfiguration, kept: Transaction): Promise<void> {
  for (const path of await knownPaths(host)) {
    const isWanted = files.some((file) => file.path === path) || contentBefore(kept, path) !== undefined;
    if (!isWanted && (await host.stat(path)) !== undefined) await host.removeFile(path);
  }
}

/** True where only the record in the cluster may be missing. */
async function isInPlace(host: Host, rendered: string, files: readonly NewFile[]): Promise<boolean> {
  const now = await host.readText(API_SERVER_MANIFEST);
  if (now === undefined || !(await isSamePod(now, rendered))) return false;
  for (const { path, content } of files) if ((await host.readText(path)) !== content) return false;
  return true;
}

async function change(
  host: Host,
  { kubernetes, files }: Reconfiguration,
  kept: Transaction,
  oldManifest: ApiServerManifest,
  rendered: string,
  run: ReconfigurationRun,
): Promise<void> {
  const timeoutMs = kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
  const { criSocket } = kubernetes.node;
  const manifest = await readManifest(rendered);
  if (manifest === undefined) throw noManifest();
  const now = await readManifest((await host.readText(API_SERVER_MANIFEST)) ?? '');
  const running = [...kept.processes, ...(await processesOf(host, now?.command ?? oldManifest.command))];
  const sinceMs = Date.now();
  const demand: ServingDemand = { manifest, gone: running, criSocket, sinceMs };
  const wait = (what: string) => run.waitingFor(`the API server to serve with its new configuration: ${what}`);
  let why: string;
  let words: readonly string[] = [];
  try {
    for (const file of files) await writeApiServerFile(host, file);
    await host.sync(dirname(API_SERVER_MANIFEST));
    const content = await asAnotherPod(rendered, new Date(sinceMs));
    await host.writeFile({ path: API_SERVER_MANIFEST, content, mode: API_SERVER_MANIFEST_MODE });
    await host.sync(API_SERVER_MANIFEST);
    const { signal } = run;
    const serving = await waitUntilServing(host, demand, { timeoutMs, signal, waitingFor: wait });
    if (serving.serves) return;
    why = serving.why;
    // Before the kubelet clears the failed pod away.
    words = await lastLogLines(host, demand);
  } catch (error) {
    await putBack(host, kept);
    throw error;
  }
  const failed = (await processesOf(host, manifest.command)).filter((process) => !running.includes(process));
  await putBack(host, kept);
  const back = await waitUntilServing(
    host,
    // If the kubelet never accepted the new manifest, the previous process is still running.
    { ...demand, manifest: oldManifest, gone: failed },
    {
      timeoutMs,
      signal: run.signal,
      waitingFor: (what) => run.waitingFor(`the API server to serve as before: ${what}`),
    },
  );
  if (back.serves) await host.removeFile(TRANSACTION);
  const outcome = back.serves
    ? 'The previous configuration is restored, and the API server serves with it.'
    : `The previous configuration is restored, but the API server does not serve with it either: ${back.why}.`;
  throw new MachineadmError({
    reason: 'APIServerNotReconfigured',
    summary: `The API server did not come up with its new configuration: ${why}. ${outcome}`,
    remedy: 'Read the log of its container in the evidence, correct the document, and run machineadm provision again.',
    evidence: [
      ...evidenceFrom('log of container kube-apiserver', words),
      { source: API_SERVER_MANIFEST, text: outcome },
    ],
    transcript: evidenceFrom('log of container kube-apiserver', words),
  });
}

/** Restores the previous state: files that did not exist then are removed. */
async function putBack(host: Host, kept: Transaction): Promise<void> {
  const then = new Set(kept.files.map(({ path }) => path));
  for (const path of await knownPaths(host)) if (!then.has(path)) await host.removeFile(path);
  await restore(host, kept);
}

/**
 * kubeadm's configuration in the cluster, which nodes may read (k/k
 * cmd/kubeadm/app/phases/uploadconfig/uploadconfig.go). A new API server refuses that until it has loaded the cluster's
 * roles, so a refusal is retried.
 */
async function clusterConfiguration(host: Host, { signal, waitingFor }: ReconfigurationRun): Promise<string> {
  let why = `${KUBELET_KUBECONFIG} does not exist`;
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    const until = Date.now() + ANSWER_MS;
    while (credential !== undefined) {
      const path = '/api/v1/namespaces/kube-system/configmaps/kubeadm-config';
      const answer = await getObject(credential, path, signal);
      const found =
        answer.kind === 'found' ? text(member(member(answer.object, 'data'), 'ClusterConfiguration')) : undefined;
      if (found !== undefined && (await foreignYaml(found)) !== undefined) return found;
      why = 'why' in answer ? answer.why : `kubeadm-config ${found === undefined ? 'does not exist' : 'is not YAML'}`;
      // A missing object is not retried.
      if (!('why' in answer) || Date.now() >= until) break;
      waitingFor(`the API server to show the cluster's configuration: ${why}`);
      await sleep(1000, undefined, { signal });
    }
  } catch (error) {
    if (!(error instanceof KubeconfigUnusable)) throw error;
    why = error.message;
  }
  throw new MachineadmError({
    reason: 'APIServerNotReconfigured',
    summary: `The configuration of the API server was not changed, because the cluster's own cannot be read: ${why}.`,
    remedy: 'Nothing was changed. Make sure that the API server answers, and run machineadm provision again.',
    evidence: [{ source: 'API server', text: why }],
    retryable: true,
  });
}

async function requireReadableEncryption(
  host: Host,
  { command }: ApiServerManifest,
  killed: Transaction | undefined,
  files: readonly NewFile[],
): Promise<void> {
  const path = command.find((word) => word.startsWith('--encryption-provider-config='))?.replace(/^[^=]*=/, '');
  const before =
    path === undefined
      ? undefined
      : ((killed === undefined ? undefined : contentBefore(killed, path)) ?? (await host.readText(path)));
  const after = files.find((file) => file.path === ENCRYPTION_CONFIG)?.content;
  await requireReadable(before, after === undefined ? undefined : String(after));
}

function noManifest(): MachineadmError {
  return new MachineadmError({
    reason: 'APIServerNotReconfigured',
    summary: `${API_SERVER_MANIFEST} does not exist, or is not a pod of an API server.`,
    remedy: 'Nothing was changed. Restore the manifest, or reset this machine and provision it again.',
  });
}
