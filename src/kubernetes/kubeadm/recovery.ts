import { setTimeout as pause } from 'node:timers/promises';
import type { Role } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  ADMIN_KUBECONFIG,
  BOOTSTRAP_KUBELET_KUBECONFIG,
  KUBELET_CONFIG,
  KUBELET_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { type Answer, getObject } from '../../host/cluster/api-server.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { getNode, type NodeView } from '../node-client.ts';
import { ownNodeName } from '../node-name.ts';
import type { Attempt } from './attempt.ts';
import { type Inventory, keeperOf } from './inventory.ts';
import { type Leftovers, leftoversWithout } from './leftovers.ts';

/** What to do about an earlier bootstrap before kubeadm may run. */
export type Recovery =
  /** No earlier bootstrap. */
  | 'none'
  /** An earlier kubeadm of ours completed; only its end was not recorded. */
  | 'finished'
  /** Other machines may depend on its result: continue from there, and never reset. */
  | 'resume'
  /** Start again; remove this machine's etcd member from its cluster. */
  | 'reset'
  /** Start again without contacting any cluster: the credentials are another machine's. */
  | 'reset-offline';

/** The inputs of the decision. */
export interface EarlierRun {
  readonly role: Role;
  readonly bootstrap: 'none' | 'attempted' | 'done';
  readonly foreignLeftovers: boolean;
  readonly leftovers: Leftovers;
  /** What existed before the first attempt. */
  readonly inventory: Inventory;
  readonly attempt: Attempt;
  readonly nodeName: string;
  /** True where the document names the node. */
  readonly nodeNameGiven: boolean;
  /** The identity in the Node of this machine. */
  readonly machineId: string;
  readonly systemUuid?: string | undefined;
}

/** After a reboot this machine's control plane needs up to a minute to answer again. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 2_000;

/**
 * Decides from the journal and from evidence, never by blind repetition. The rules follow kubeadm's behaviour: only
 * preflight refuses a second run and init's later phases are idempotent (kubeadm#2095), so an init that has published
 * its cluster is resumed. A join is not, because before 1.32 a second announcement of an etcd member fails (k/k#127491)
 * and a half-promoted one breaks the quorum.
 *
 * @param patienceMs how long an unreachable API server is retried before that counts as its answer
 * @throws MachineadmError `APIServerUnreachableFromKubelet` where a reset might destroy a worker that has joined
 */
export async function decideRecovery(host: QueryHost, past: EarlierRun, patienceMs = PATIENCE_MS): Promise<Recovery> {
  if (past.bootstrap === 'done') return 'none';
  const { traces, certificates } = leftoversWithout(past.leftovers, keeperOf(past.inventory));
  if (past.foreignLeftovers && past.bootstrap === 'none') return traces.length > 0 ? 'reset-offline' : 'none';
  // No attempt of ours is known: kubeadm's preflight, and then the operator, must decide whose files these are.
  if (past.bootstrap === 'none') return 'none';
  // An attempt that failed in preflight wrote nothing: existing files are not its work.
  if (past.attempt.wroteNothing) return 'none';
  if (traces.length === 0 && certificates.length === 0) return 'none';
  if (past.role === 'InitControlPlane') {
    return (await isPublished(host, past.leftovers.traces, patienceMs)) ? 'resume' : 'reset';
  }
  return (await hasJoined(host, past, patienceMs)) ? 'finished' : 'reset';
}

/**
 * Whether other machines may have joined this init's cluster: possible once the ConfigMap cluster-info exists (k/k
 * cmd/kubeadm/app/phases/bootstraptoken/clusterinfo).
 */
async function isPublished(host: QueryHost, traces: readonly string[], patienceMs: number): Promise<boolean> {
  // Before these three exist no API server of ours can have run.
  const ranOnce =
    traces.includes(ADMIN_KUBECONFIG) &&
    traces.some((path) => path.endsWith('/kube-apiserver.yaml')) &&
    (await host.stat(KUBELET_CONFIG)) !== undefined;
  if (!ranOnce) return false;
  // An API server whose etcd never had a member has never answered, and will not now: it is queried only once.
  const hasOwnEtcd = traces.some((path) => path.endsWith('/etcd.yaml'));
  const etcdRan = !hasOwnEtcd || traces.some((path) => path.endsWith('/member'));
  const answer = await askPatiently(etcdRan ? patienceMs : 0, async () => {
    const credential = await usable(host, ADMIN_KUBECONFIG);
    if (credential === undefined) return { kind: 'absent' };
    return await getObject(credential, '/api/v1/namespaces/kube-public/configmaps/cluster-info');
  });
  if (answer.kind === 'found') return true;
  if (answer.kind === 'absent' || answer.kind === 'untrusted') return false;
  // It does not answer. kubeadm rotates the kubelet's credential only after it published the cluster.
  return (await host.readText(KUBELET_KUBECONFIG))?.includes('kubelet-client-current.pem') ?? false;
}

/** Whether a join completed: its last externally visible action. */
async function hasJoined(host: QueryHost, past: EarlierRun, patienceMs: number): Promise<boolean> {
  const { traces } = past.leftovers;
  // kubeadm writes kubelet.conf's predecessor first and deletes it after the TLS bootstrap, except when it is killed.
  if (!traces.includes(KUBELET_KUBECONFIG) || traces.includes(BOOTSTRAP_KUBELET_KUBECONFIG)) return false;
  const worker = past.role === 'Worker';
  const answer = await askPatiently(worker ? patienceMs : 0, async () => {
    const credential = await usable(host, KUBELET_KUBECONFIG);
    return credential === undefined ? { kind: 'absent' } : await getNode(credential, ownNodeName(credential, past));
  });
  if (answer.kind === 'found') return isFinished(answer.object, past);
  if (answer.kind === 'absent' || answer.kind === 'untrusted' || !worker) return false;
  throw new MachineadmError({
    reason: 'APIServerUnreachableFromKubelet',
    summary: `An earlier run was killed while this machine joined, and machineadm cannot determine whether it has joined: ${answer.why}.`,
    remedy:
      'Restore the connection to the API server and run machineadm provision again. To abandon this node and join again, run machineadm reset first.',
    evidence: [{ source: 'API server', text: answer.why }],
    retryable: true,
  });
}

function isFinished(node: NodeView, past: EarlierRun): boolean {
  // Not the boot id: after a reboot the kubelet may not have reported yet.
  if (node.machineId === '' || node.machineId !== past.machineId) return false;
  if (past.systemUuid !== undefined && node.systemUuid !== past.systemUuid) return false;
  // Marking the node is the last change of a control-plane join (k/k cmd/kubeadm/app/cmd/join.go).
  return past.role === 'Worker' || node.controlPlane;
}

async function usable(host: QueryHost, path: string): ReturnType<typeof readKubeconfig> {
  try {
    return await readKubeconfig(host, path);
  } catch (error) {
    // A kubeconfig that was truncated when kubeadm was killed proves that it did not get further.
    if (error instanceof KubeconfigUnusable) return undefined;
    throw error;
  }
}

async function askPatiently<Found>(patienceMs: number, ask: () => Promise<Answer<Found>>): Promise<Answer<Found>> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    const settled = answer.kind !== 'unreachable' && answer.kind !== 'refused';
    if (settled || performance.now() + PAUSE_MS > end) return answer;
    await pause(PAUSE_MS);
  }
}
