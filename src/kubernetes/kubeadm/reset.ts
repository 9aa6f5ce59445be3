import { setTimeout as pause } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '../../document/errors.ts';
import type { KubernetesModel } from '../../document/model.ts';
import type { Host } from '../../host/host.ts';
import { type ClusterCredential, KubeconfigUnusable, readKubeconfig } from '../../host/kubeconfig.ts';
import { findEtcdPeers, removeOwnMember } from '../etcd-members.ts';
import { getNode } from '../node-client.ts';
import { ADMIN_KUBECONFIG, DEFAULT_CERTIFICATES_DIRECTORY, KUBELET_KUBECONFIG } from '../paths.ts';
import { podShims } from '../pod-shims.ts';

export interface ResetOrder {
  /** `unix:///run/containerd/containerd.sock` */
  readonly criSocket: string;
  readonly certificatesDirectory: string;
  /** True where the credentials on the disk are another machine's: no cluster may be spoken to with them. */
  readonly offline: boolean;
  readonly nodeName: string;
  /** Paths that must be gone afterwards. */
  readonly leftovers: readonly string[];
  /** Set for a machine that may have joined a stacked etcd: it is taken out of its cluster. */
  readonly etcdMember?: { readonly advertiseAddress: string | undefined };
}

/** What of a document a reset depends on; without a secret, so that a journal may keep it. */
export function resetOrder(
  { node, cluster, controlPlane, role }: KubernetesModel,
  nodeName: string,
): Omit<ResetOrder, 'offline' | 'leftovers'> {
  const mayBeMember = role === 'JoinControlPlane' && controlPlane.etcd.kind === 'local';
  const { advertiseAddress } = controlPlane.apiEndpoint;
  return {
    criSocket: node.criSocket,
    certificatesDirectory: cluster.certificatesDirectory,
    nodeName,
    ...(mayBeMember ? { etcdMember: { advertiseAddress } } : {}),
  };
}

export interface ResetWatch {
  readonly signal: AbortSignal;
  readonly line: (text: string) => void;
  readonly warn: (message: string) => void;
  readonly waitingFor: (what: string | undefined) => void;
}

/** kubeadm's own limits inside a reset (etcd calls 2 min, API calls) stay well below. */
const RESET_TIMEOUT_MS = 5 * 60_000;
/** node-monitor-grace-period is 40 s, 50 s since 1.32 (k/k#121863); the controller looks every 5 s. */
const NODE_GONE_PATIENCE_MS = 90_000;
const NODE_PAUSE_MS = 3_000;

/**
 * Undoes an earlier `kubeadm init` or `join` on this machine: the etcd member is taken out of its cluster, the kubelet
 * stopped, the pods' containers removed, kubeadm's files deleted, and what kubeadm left of them as well.
 *
 * Interrupted, it may simply be run again.
 *
 * @throws MachineadmError `BootstrapperFailed` with kubeadm's output as transcript
 */
export async function resetNode(host: Host, order: ResetOrder, watch: ResetWatch): Promise<void> {
  const registered = order.offline ? undefined : await readyNode(host, order.nodeName, watch.signal);
  // Before kubeadm deletes what leads to the cluster, so that an interrupted reset finds it again.
  const membership = await leaveEtcd(host, order, watch);
  await startContainerd(host, watch);

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
  if (result.status !== 0) throw resetFailed(`exit status ${result.status}`, lines.slice(-5), lines);
  const mounted = lines.filter(({ text }) => text.includes('Failed to unmount mounted directories'));
  if (mounted.length > 0) throw resetFailed('file systems of pods could not be unmounted', mounted, lines);

  await stopKubelet(host);
  await requireNoPods(host, lines);
  if (membership === 'unknown') warnOfMember(lines, watch);
  for (const path of order.leftovers) await removeRest(host, path, watch.signal);
  if (registered !== undefined) await untilNodeIsNotReady(registered, order.nodeName, watch);
}

/**
 * Takes this machine out of a stacked etcd, as kubeadm does only where its manifest of etcd was written already
 * (k/k cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go), which comes after the announcement.
 */
async function leaveEtcd(host: Host, order: ResetOrder, watch: ResetWatch): Promise<'none' | 'removed' | 'unknown'> {
  const { etcdMember, certificatesDirectory, nodeName } = order;
  if (etcdMember === undefined || order.offline) return 'unknown';
  const peers = await findEtcdPeers(host, certificatesDirectory, etcdMember.advertiseAddress, watch.signal);
  if (peers === undefined) return 'unknown';
  watch.waitingFor('the etcd cluster to let this machine go');
  const membership = await removeOwnMember(peers, nodeName, watch.signal);
  watch.waitingFor(undefined);
  if (membership === 'removed') watch.line(`machineadm took the member ${peers.ownPeerUrl} out of the etcd cluster`);
  return membership;
}

/** kubeadm goes on, and ends with status 0, when it cannot take the member out. */
function warnOfMember(lines: readonly Evidence[], watch: ResetWatch): void {
  for (const { text } of lines) {
    if (!/[Ff]ailed to remove etcd member/.test(text)) continue;
    watch.warn(`This machine's etcd member may still be in its cluster; remove it with etcdctl. kubeadm: ${text}`);
  }
}

/** What kubeadm is called with; the flags exist since 1.20. */
export function resetArguments(order: ResetOrder): readonly string[] {
  return [
    'reset',
    '--force',
    `--cri-socket=${order.criSocket}`,
    // An empty file leads to no cluster: with admin.conf a cloned disk would take the original's member out of etcd
    // (k/k cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go: only where the cluster's configuration was fetched).
    `--kubeconfig=${order.offline ? '/dev/null' : ADMIN_KUBECONFIG}`,
    ...(order.certificatesDirectory === DEFAULT_CERTIFICATES_DIRECTORY
      ? []
      : [`--cert-dir=${order.certificatesDirectory}`]),
  ];
}

/** The containers can only be removed by a runtime that runs; that it cannot start is for the containerd step to say. */
async function startContainerd(host: Host, watch: ResetWatch): Promise<void> {
  if (!(await host.service('containerd')).exists) return;
  try {
    await host.services.start('containerd');
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    watch.warn(`containerd does not run, so containers of an earlier attempt stay until it does: ${error.message}`);
  }
}

async function stopKubelet(host: Host): Promise<void> {
  if (!(await host.service('kubelet')).exists) return;
  // Also when it is not active: between two starts of its crash loop systemd calls it activating.
  await host.services.stop('kubelet');
}

/**
 * Whether pods are gone is seen from their processes: kubeadm only warns where it could not remove them, and before 1.31
 * warns on every machine without crictl.
 */
async function requireNoPods(host: Host, lines: readonly Evidence[]): Promise<void> {
  const shims = await podShims(host);
  if (shims.length === 0) return;
  const warnings = lines.filter(({ text }) => text.includes('Failed to remove containers'));
  const seen = { source: 'processes', text: `containerd shims of pods still run: ${shims.join(', ')}` };
  throw resetFailed('containers of pods still run', [seen, ...warnings], lines);
}

/**
 * Removes what a reset of this kubeadm does not know: super-admin.conf before 1.29, etcd's data where its manifest was
 * missing.
 */
async function removeRest(host: Host, path: string, signal: AbortSignal): Promise<void> {
  const stat = await host.stat(path);
  if (stat === undefined) return;
  if (stat.type !== 'directory') return await host.removeFile(path);
  // Never into a file system that is mounted below.
  await host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', path], signal });
}

/** The credential to watch this machine's Node with, when it is Ready now; read before the reset deletes it. */
async function readyNode(host: Host, nodeName: string, signal: AbortSignal): Promise<ClusterCredential | undefined> {
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    if (credential === undefined) return undefined;
    const answer = await getNode(credential, nodeName, signal);
    return answer.kind === 'found' && answer.object.ready?.status === 'True' ? credential : undefined;
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return undefined;
    throw error;
  }
}

/** kubeadm join refuses while a Node of this name is Ready, this machine's own included (phases/join/kubelet.go). */
async function untilNodeIsNotReady(credential: ClusterCredential, nodeName: string, watch: ResetWatch): Promise<void> {
  watch.waitingFor(`the cluster to notice that Node ${nodeName} has stopped`);
  const end = performance.now() + NODE_GONE_PATIENCE_MS;
  while (performance.now() < end) {
    const answer = await getNode(credential, nodeName, watch.signal);
    if (answer.kind !== 'found' || answer.object.ready?.status !== 'True') break;
    await pause(NODE_PAUSE_MS, undefined, { signal: watch.signal });
  }
  watch.waitingFor(undefined);
}

function resetFailed(why: string, proof: readonly Evidence[], transcript: readonly Evidence[]): MachineadmError {
  return new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: `kubeadm reset could not clean up after an earlier attempt: ${why}.`,
    remedy:
      'Run kubeadm reset by hand and mend what it names (before 1.31 it needs crictl to remove containers); a reboot ends containers and mounts of pods. Then run machineadm provision again.',
    evidence: proof,
    transcript,
    retryable: true,
  });
}
