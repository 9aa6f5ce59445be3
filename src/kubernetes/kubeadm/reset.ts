import { setTimeout as pause } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DEFAULT_CERTIFICATES_DIRECTORY, KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { type ClusterCredential, KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import { runtimeService } from '../../host/linux/runtime-sockets.ts';
import type { Host } from '../../host/seam/host.ts';
import { getNode } from '../node-client.ts';
import { ownNodeName } from '../node-name.ts';
import { type PodShim, podShims, processesBelow } from '../pod-shims.ts';
import { removeAllBut, removeRest } from './cleanup.ts';
import { leaveEtcd } from './leave-etcd.ts';
import type { ResetOrder, ResetWatch, UndoNote } from './reset-order.ts';

/** kubeadm's own limits in a reset (etcd calls 2 min, API calls) are well below this. */
const RESET_TIMEOUT_MS = 5 * 60_000;
/** node-monitor-grace-period is 40 s, 50 s since 1.32 (k/k#121863); the controller checks every 5 s. */
const NODE_GONE_PATIENCE_MS = 90_000;
const NODE_PAUSE_MS = 3_000;
/** A pod that the kubelet asked for just before it was stopped appears after the others were removed. */
const PODS_GONE_PATIENCE_MS = 20_000;
/** The part of this patience after which a shim of no pod is taken for forgotten, and not for one that is being made. */
const FORGOTTEN_AFTER = 0.25;
const PODS_PAUSE_MS = 500;

/**
 * Undoes an earlier `kubeadm init` or `join` on this machine: removes its etcd member from the cluster, stops the
 * kubelet, removes the pods' containers, and deletes what kubeadm wrote. What existed before is kept: kubeadm reset
 * empties whole directories, so it runs only where nothing has to be kept.
 * An interrupted reset can be run again.
 *
 * @param podsPatienceMs how long pods may take until their processes have ended
 * @throws MachineadmError `BootstrapperFailed` with kubeadm's output as transcript, `ResetFailed`,
 * `EtcdMemberAlreadyExists`
 */
export async function resetNode(
  host: Host,
  order: ResetOrder,
  watch: ResetWatch,
  podsPatienceMs: number = PODS_GONE_PATIENCE_MS,
): Promise<void> {
  const registered = order.offline ? undefined : await readyNode(host, order, watch.signal);
  // Before the cluster's credentials are deleted, so that an interrupted reset can use them again.
  if (!order.offline) await leaveEtcd(host, order, watch);
  await startRuntime(host, order, watch);
  // First, and by ourselves: kubeadm removes the containers that are there, empties the directories, and does not look whether
  // a pod that the kubelet had just asked for appears meanwhile and writes them again.
  await stopKubelet(host);
  await removePods(host, order, watch, podsPatienceMs);
  if (order.inventory.length === 0) {
    await runKubeadmReset(host, order, watch);
    for (const path of order.leftovers) await removeRest(host, path, watch.signal);
  } else {
    await removeAllBut(host, order, order.inventory, watch);
  }
  if (registered !== undefined) await untilNodeIsNotReady(registered, watch);
}

async function runKubeadmReset(host: Host, order: ResetOrder, watch: ResetWatch): Promise<void> {
  const lines: Evidence[] = [];
  const result = await host.run({
    program: 'kubeadm',
    args: resetArguments(order),
    timeoutMs: RESET_TIMEOUT_MS,
    signal: watch.signal,
    supervised: true,
    onLine: (_stream, text) => {
      lines.push({ source: 'kubeadm', text });
      watch.line(text);
    },
  });
  if (result.status !== 0) {
    const why = `exit status ${result.status}`;
    throw resetFailed('BootstrapperFailed', why, lines.slice(-5), lines);
  }
  const mounted = lines.filter(({ text }) => text.includes('Failed to unmount mounted directories'));
  if (mounted.length > 0) throw resetFailed('ResetFailed', 'file systems of pods could not be unmounted', mounted);
}

/**
 * kubeadm's arguments; the flags exist since 1.20. An empty kubeconfig prevents access to the cluster: with admin.conf
 * kubeadm looks up its own address by the node's name, and removes the etcd member that has it (k/k
 * cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go, util/config/cluster.go). With duplicate names, or where this
 * disk is a copy, that is another machine's member.
 */
export function resetArguments({ criSocket, certificatesDirectory }: UndoNote): readonly string[] {
  return [
    'reset',
    '--force',
    `--cri-socket=${criSocket}`,
    '--kubeconfig=/dev/null',
    ...(certificatesDirectory === DEFAULT_CERTIFICATES_DIRECTORY ? [] : [`--cert-dir=${certificatesDirectory}`]),
  ];
}

/**
 * Removes the pods over CRI until their processes have ended, which is the proof. kubeadm only warns where it could not
 * remove them, and before 1.31 it needs crictl.
 */
async function removePods(host: Host, { criSocket }: ResetOrder, watch: ResetWatch, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs;
  let noneSince: number | undefined;
  for (;;) {
    const refused: Evidence[] = [];
    let count: number | undefined;
    try {
      count = await host.removePods(criSocket, watch.signal);
      if (count > 0) watch.line(`removed ${count} pods`);
    } catch (error) {
      if (!(error instanceof MachineadmError)) throw error;
      refused.push({ source: 'container runtime', text: `Failed to remove containers: ${error.message}` });
    }
    const left = await podShims(host);
    if (left.length === 0) return;
    const now = performance.now();
    noneSince = count === 0 ? (noneSince ?? now) : undefined;
    if (now >= end) {
      const ids = left.map(({ pid }) => pid).join(', ');
      const seen = { source: 'processes', text: `containerd shims of pods still run: ${ids}` };
      throw resetFailed('ResetFailed', 'containers of pods still run', [seen, ...refused]);
    }
    if (noneSince !== undefined && now - noneSince >= patienceMs * FORGOTTEN_AFTER) {
      await endForgotten(host, left, criSocket, watch);
    }
    await pause(PODS_PAUSE_MS, undefined, { signal: watch.signal });
  }
}

/**
 * Ends shims that the runtime of this node started and no longer knows: containerd forgets one whose pod it was just
 * creating when the call was cancelled, also with containers in it. Their processes first, which only the shim leads to.
 */
async function endForgotten(host: Host, left: readonly PodShim[], criSocket: string, watch: ResetWatch): Promise<void> {
  const socket = withoutScheme(criSocket);
  for (const shim of left) {
    if (shim.socket === undefined || withoutScheme(shim.socket) !== socket) continue;
    const below = await processesBelow(host, shim.pid);
    if (below === undefined) continue;
    const [ended, what] =
      below.length > 0
        ? [below, `the containers of a pod that containerd forgot: ${below.join(', ')}`]
        : [[shim.pid], `a shim that containerd forgot: ${shim.pid}`];
    watch.line(`end ${what}`);
    const args = ['-c', 'kill -KILL "$@"', 'sh', ...ended.map(String)];
    await host.run({ program: 'sh', args, signal: watch.signal });
  }
}

/** `/run/containerd/containerd.sock` of `unix:///var/run/containerd/containerd.sock`. */
function withoutScheme(socket: string): string {
  return socket.replace(/^unix:\/\//, '').replace(/^\/var\/run\//, '/run/');
}

/** Only a running runtime can remove the containers; if it cannot start, the containerd step reports that. */
async function startRuntime(host: Host, { criSocket }: ResetOrder, watch: ResetWatch): Promise<void> {
  const runtime = runtimeService(criSocket);
  if (!(await host.service(runtime)).exists) return;
  try {
    await host.services.start(runtime);
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    watch.warn(`${runtime} does not run, so containers of an earlier attempt stay until it does: ${error.message}`);
  }
}

async function stopKubelet(host: Host): Promise<void> {
  if (!(await host.service('kubelet')).exists) return;
  // Even if it is not active: between two starts of its crash loop systemd reports it as activating.
  await host.services.stop('kubelet');
}

/** A Ready Node, and how to reach it. */
interface ReadyNode {
  readonly credential: ClusterCredential;
  readonly name: string;
}

/** This machine's Node, if it is Ready now; its credential is read before the reset deletes it. */
async function readyNode(host: Host, order: ResetOrder, signal: AbortSignal): Promise<ReadyNode | undefined> {
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    if (credential === undefined) return undefined;
    const name = ownNodeName(credential, { nodeName: order.nodeName, nodeNameGiven: false });
    const answer = await getNode(credential, name, signal);
    if (answer.kind !== 'found' || answer.object.ready?.status !== 'True') return undefined;
    const { machineId } = answer.object;
    // Another machine's Node stays Ready.
    if (order.machineId !== undefined && machineId !== '' && machineId !== order.machineId) return undefined;
    return { credential, name };
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return undefined;
    throw error;
  }
}

/** kubeadm join refuses while a Node of this name is Ready, even this machine's own (phases/join/kubelet.go). */
async function untilNodeIsNotReady({ credential, name }: ReadyNode, watch: ResetWatch): Promise<void> {
  watch.waitingFor(`the cluster to notice that Node ${name} has stopped`);
  const end = performance.now() + NODE_GONE_PATIENCE_MS;
  while (performance.now() < end) {
    const answer = await getNode(credential, name, watch.signal);
    if (answer.kind !== 'found' || answer.object.ready?.status !== 'True') break;
    await pause(NODE_PAUSE_MS, undefined, { signal: watch.signal });
  }
  watch.waitingFor(undefined);
}

function resetFailed(
  reason: 'BootstrapperFailed' | 'ResetFailed',
  why: string,
  evidence: readonly Evidence[],
  transcript: readonly Evidence[] = [],
): MachineadmError {
  return new MachineadmError({
    reason,
    exit: 'BootstrapperFailed',
    summary: `The remains of an earlier attempt could not be removed: ${why}.`,
    remedy:
      'Fix what the evidence names, or reboot: that ends the containers and mounts of pods. Then run the same machineadm command again.',
    evidence,
    transcript,
    retryable: true,
  });
}
