import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type KubeadmPod, staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import { reconfiguration } from '@machineadm/kubeadm/api-server/cluster-configuration.ts';
import { API_SERVER_MANIFEST, isSamePod, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import type { RequestedNames } from '@machineadm/kubeadm/components.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { findPatches, recordInCluster, renderManifest } from '../api-server/render-manifest.ts';
import { lastLogLines, type ServingDemand, waitUntilServing } from '../api-server/serving.ts';
import { probeControlPlane } from '../control-plane-health.ts';
import { argumentOf } from '../local-etcd.ts';
import { podProcesses } from './certificate-renewal.ts';
import { type KeptPods, processesBefore } from './pod-kept.ts';
import type { RestartWatch } from './pod-restart.ts';

/** What kubeadm needs to write the manifests of static pods again. */
export interface PodWish {
  readonly kubernetes: KubernetesModel;
  readonly socket: string;
  readonly kubeadm: Version;
  /** The cluster's ClusterConfiguration. */
  readonly cluster: unknown;
  readonly nodeName: string;
  readonly pods: readonly { readonly pod: KubeadmPod; readonly before: RequestedNames }[];
}

/** They count for a member without data only; kubeadm writes them as for the first member of a cluster. */
const KEPT_ARGUMENTS = ['initial-cluster', 'initial-cluster-state'];
/** Of etcd: with other values the member would not be the one that it was. */
const SAME_ARGUMENTS = ['name', 'data-dir', 'listen-peer-urls', 'listen-client-urls', 'initial-advertise-peer-urls'];

/** kubeadm's configuration with these pods as the document describes them. */
async function configurationOf(host: Host, wish: PodWish, patchesDirectory: string | undefined): Promise<string> {
  const { kubernetes, socket, ...rest } = wish;
  const api = await readManifest((await host.readText(API_SERVER_MANIFEST)) ?? '');
  const node = { ...kubernetes.node, criSocket: kubernetes.node.criSocket ?? socket };
  return reconfiguration({ ...rest, kubernetes: { ...kubernetes, node }, endpoint: api?.endpoint, patchesDirectory });
}

/**
 * Lets kubeadm write the manifest of a static pod with the settings of the document, and waits until its pod works with it.
 *
 * @param kept how the pods were before
 * @throws MachineadmError `ControlPlaneNotReconfigured`, `KubeadmConfigInvalid`; the manifest may be the new one then
 */
export async function changePod(
  host: Host,
  wish: PodWish,
  pod: KubeadmPod,
  kept: KeptPods,
  watch: RestartWatch,
): Promise<void> {
  const { kubernetes, kubeadm } = wish;
  const path = staticPodPath(pod);
  const [source, stat] = [await host.readText(path), await host.stat(path)];
  const now = await readManifest(source ?? '');
  if (source === undefined || now === undefined) throw notReconfigured(pod, `${path} is not a pod`, []);
  const patchesDirectory = await findPatches(host, kubernetes, kubeadm, pod);
  const configuration = await configurationOf(host, wish, patchesDirectory);
  const { signal } = watch;
  const rendered = await renderManifest(host, configuration, { pod, kubeadm, patchesDirectory, now, signal });
  const content = pod === 'etcd' ? await asSameMember(rendered, now.command) : rendered;
  const manifest = await readManifest(content);
  if (manifest === undefined) throw notReconfigured(pod, 'kubeadm wrote no pod', []);
  const isThere = await isSamePod(source, content);
  const gone = [...processesBefore(kept, pod), ...(isThere ? [] : await podProcesses(host, pod))];
  const sinceMs = Date.now();
  if (!isThere) {
    await host.writeFile({ path, content, mode: stat?.mode ?? 0o600, gid: stat?.gid ?? 0 });
    await host.sync(path);
  }
  const demand = demandOf(host, pod, { manifest, gone, criSocket: wish.socket, sinceMs });
  const waitingFor = (what: string) => watch.waitingFor(`${pod} to work with its new arguments: ${what}`);
  const serving = await waitUntilServing(host, demand, { ...watch, waitingFor });
  watch.waitingFor(undefined);
  if (serving.serves) return;
  // Before the kubelet clears the failed pod away.
  throw notReconfigured(pod, serving.why, await lastLogLines(host, demand));
}

/**
 * Waits until a pod runs with the manifest on the disk again. Returns why it does not.
 *
 * @param gone processes with other settings
 */
export async function untilPodIsBack(
  host: QueryHost,
  pod: KubeadmPod,
  { gone, criSocket }: Pick<ServingDemand, 'gone' | 'criSocket'>,
  watch: RestartWatch,
): Promise<string | undefined> {
  const manifest = await readManifest((await host.readText(staticPodPath(pod))) ?? '');
  if (manifest === undefined) return `${staticPodPath(pod)} is not a pod`;
  const demand = demandOf(host, pod, { manifest, gone, criSocket, sinceMs: Date.now() });
  const waitingFor = (what: string) => watch.waitingFor(`${pod} to work as before: ${what}`);
  const serving = await waitUntilServing(host, demand, { ...watch, waitingFor });
  watch.waitingFor(undefined);
  return serving.serves ? undefined : serving.why;
}

function demandOf(host: QueryHost, pod: KubeadmPod, demand: Omit<ServingDemand, 'container' | 'probe'>): ServingDemand {
  const probe = async (signal: AbortSignal) => (await probeControlPlane(host, [pod], signal))?.why;
  return { ...demand, container: pod, probe };
}

/** Has kubeadm record the settings in the cluster, for upgrades and for control planes that join later. */
export async function recordPods(host: Host, wish: PodWish, signal: AbortSignal): Promise<void> {
  const configuration = await configurationOf(host, wish, undefined);
  await recordInCluster(host, signal, {
    ...{ reason: 'ControlPlaneNotReconfigured', what: 'The control plane of this machine runs' },
    ...{ command: 'machineadm upgrade', configuration },
  });
}

/** @throws MachineadmError `ControlPlaneNotReconfigured` where the manifest is that of another member */
async function asSameMember(rendered: string, before: readonly string[]): Promise<string> {
  const manifest = await readManifest(rendered);
  const other = SAME_ARGUMENTS.filter((name) => argumentOf(manifest?.command ?? [], name) !== argumentOf(before, name));
  if (other.length > 0) {
    const why = `kubeadm would write ${other.map((name) => `--${name}`).join(', ')} with other values than the member has, so that it would not be the same`;
    throw notReconfigured('etcd', why, []);
  }
  const { isSeq, parseDocument } = await import('yaml');
  const document = parseDocument(rendered, QUIET);
  const path = ['spec', 'containers', 0, 'command'];
  const command = document.getIn(path);
  const words = manifest?.command ?? [];
  if (!isSeq(command)) return rendered;
  const kept = before.filter((word) => KEPT_ARGUMENTS.some((name) => word.startsWith(`--${name}=`)));
  const rest = words.filter((word) => !KEPT_ARGUMENTS.some((name) => word.startsWith(`--${name}=`)));
  const [program = 'etcd', ...args] = rest;
  document.setIn(path, document.createNode([program, ...[...args, ...kept].toSorted(byName)]));
  return document.toString({ lineWidth: 0 });
}

/** As kubeadm sorts them (k/k cmd/kubeadm/app/util/arguments.go). */
function byName(one: string, other: string): number {
  const [a = '', b = ''] = [one, other].map((word) => word.split('=')[0]);
  return a < b ? -1 : a > b ? 1 : 0;
}

function notReconfigured(pod: KubeadmPod, why: string, words: readonly string[]): MachineadmError {
  const lines = evidenceFrom(`log of container ${pod}`, words);
  return new MachineadmError({
    reason: 'ControlPlaneNotReconfigured',
    summary: `${pod} does not work with its new arguments: ${why}.`,
    remedy: 'Read the log of its container in the evidence, correct the document, and run machineadm upgrade again.',
    evidence: lines,
    transcript: lines,
  });
}
