import { setTimeout as pause } from 'node:timers/promises';
import type { ReadyModel } from '@machineadm/document/model/index.ts';
import { KUBELET_KUBECONFIG, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { EndpointTrouble } from '../host/cluster/endpoint-trouble.ts';
import { KubeconfigUnusable, readKubeconfig } from '../host/cluster/kubeconfig.ts';
import type { ReportedIdentity } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { type EndpointDemand, probeControlPlaneEndpoint } from './control-plane-endpoint.ts';
import { endedLately } from './control-plane-exits.ts';
import { probeControlPlane } from './control-plane-health.ts';
import { kubeletHealth } from './kubelet-health.ts';
import { KubeletUnitWatch } from './kubelet-unit.ts';
import { getNode, type NodeView } from './node-client.ts';
import { ownNodeName } from './node-name.ts';
import { describeWait, type NotReady, notReady } from './not-ready.ts';

/**
 * The conditions for this machine to count as bootstrapped. Its identity is the source of the kubelet's nodeInfo: on
 * Linux /etc/machine-id and /proc/sys/kernel/random/boot_id (cadvisor).
 */
export interface ReadinessDemand extends ReportedIdentity {
  readonly require: ReadyModel['require'];
  readonly nodeName: string;
  /**
   * True where the document sets the node's name. Otherwise the name in the kubelet's certificate takes precedence over
   * the expected one: a hook may have set another name in kubeadm's configuration.
   */
  readonly nodeNameGiven: boolean;
  /** Compared with the Node's where given. */
  readonly providerId: string | undefined;
  /** For a control plane: its components must work as well. */
  readonly controlPlane?: ControlPlaneDemand | undefined;
}

export interface ControlPlaneDemand {
  /** Components that must have a manifest; the others are checked if they have one. */
  readonly required: readonly KubeadmPod[];
  /** Whether they stay up; undefined: not checked. */
  readonly criSocket: string | undefined;
  /** Whether the address at which all others reach the cluster works; undefined: not checked. */
  readonly endpoint?: EndpointDemand | undefined;
}

/** The result of one check: ready, or the reason why not with its evidence. */
export type NodeReadiness =
  /** `endpoint`: why the control-plane endpoint does not work, where it need not work yet. */
  { readonly ready: true; readonly endpoint?: EndpointTrouble } | NotReady;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 3_000;

/**
 * Checks once. The Node is read with the kubelet's own credential, so that the answer also proves that the credential
 * works; the kubelet may always read its own Node (k/k plugin/pkg/auth/authorizer/node).
 */
export async function probeReadiness(
  host: QueryHost,
  demand: ReadinessDemand,
  signal?: AbortSignal,
): Promise<NodeReadiness> {
  const kubelet = await kubeletHealth(host, signal);
  if (!kubelet.healthy) return { ready: false, reason: 'KubeletNotHealthy', why: kubelet.why };
  if (demand.controlPlane !== undefined) {
    const trouble = await probeControlPlane(host, demand.controlPlane.required, signal);
    if (trouble !== undefined) return { ready: false, reason: trouble.reason, why: trouble.why };
  }
  const endpoint = await endpointTrouble(host, demand, signal);
  if (endpoint !== undefined && demand.controlPlane?.endpoint?.need === 'Required') {
    return { ready: false, reason: endpoint.reason, why: endpoint.text, endpoint };
  }
  const isReady: NodeReadiness = { ready: true, ...(endpoint === undefined ? {} : { endpoint }) };
  if (demand.require === 'KubeletHealthy') return isReady;

  const registered = await ownNode(host, demand, signal);
  if (!('node' in registered)) return registered;
  const { node } = registered;
  if (demand.providerId !== undefined && node.providerId !== demand.providerId) {
    const found = node.providerId === '' ? 'none yet' : node.providerId;
    return mismatch(`Node ${node.name} has the provider ID ${found}, the document says ${demand.providerId}`);
  }
  if (demand.require === 'NodeRegistered' || node.ready?.status === 'True') return isReady;
  return { ready: false, reason: 'NodeNotReady', why: describeNotReady(node) };
}

/**
 * Waits until the demand is met, or until waiting is futile because an operator must correct the kubelet.
 *
 * @param options.waitingFor called with what is being waited for, whenever that changes
 * @returns the finding that met it
 * @throws MachineadmError with the last finding's reason after `timeoutMs`, ending with exit code NotReady
 */
export async function waitUntilReady(
  host: QueryHost,
  demand: ReadinessDemand,
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly waitingFor: (what: string | undefined) => void;
  },
): Promise<NodeReadiness> {
  const { signal, waitingFor, timeoutMs } = options;
  // Not the wall clock: time synchronisation moves it just when a machine boots.
  const end = performance.now() + timeoutMs;
  const begun = performance.now();
  const kubelet = new KubeletUnitWatch();
  let rest = FIRST_PAUSE_MS;
  for (;;) {
    const finding = await probeToStay(host, demand, signal);
    if (finding.ready) {
      waitingFor(undefined);
      return finding;
    }
    if (finding.reason === 'KubeletNotHealthy') {
      const down = kubelet.observe(await host.service('kubelet'), performance.now());
      if (down !== undefined) throw notReady({ ...finding, why: down }, demand.nodeName, performance.now() - begun);
    }
    waitingFor(describeWait(finding, demand.nodeName));
    const left = end - performance.now();
    if (left <= 0) throw notReady(finding, demand.nodeName, timeoutMs);
    await sleep(Math.min(rest, left), signal);
    rest = Math.min(rest * 1.3, LONGEST_PAUSE_MS);
  }
}

/** A component that restarts, or an API server that is busy, is back within this time on a slow machine. */
const PATIENCE_MS = 20_000;
const PATIENCE_PAUSE_MS = 2_000;

/**
 * Looks at a node that was proven once: a component of its control plane that does not answer at this moment, or an API
 * server that cannot be reached, counts only if that lasts.
 */
export async function probePatiently(
  host: QueryHost,
  demand: ReadinessDemand,
  patienceMs = PATIENCE_MS,
): Promise<NodeReadiness> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const finding = await probeReadiness(host, demand);
    if (finding.ready || !mayBeMomentary(finding) || performance.now() + PATIENCE_PAUSE_MS > end) return finding;
    await pause(PATIENCE_PAUSE_MS);
  }
}

function mayBeMomentary({ reason, endpoint }: NotReady): boolean {
  return reason === 'ControlPlaneComponentNotHealthy' || reason === 'NodeStateUnknown' || endpoint !== undefined;
}

async function endpointTrouble(
  host: QueryHost,
  demand: ReadinessDemand,
  signal: AbortSignal | undefined,
): Promise<EndpointTrouble | undefined> {
  const endpoint = demand.controlPlane?.endpoint;
  if (endpoint === undefined) return undefined;
  return await probeControlPlaneEndpoint(host, endpoint, (credential) => ownNodeName(credential, demand), signal);
}

/** Ready, and no component of the control plane ended a moment ago: one that is killed again and again looks well in between. */
async function probeToStay(host: QueryHost, demand: ReadinessDemand, signal: AbortSignal): Promise<NodeReadiness> {
  const finding = await probeReadiness(host, demand, signal);
  const socket = demand.controlPlane?.criSocket;
  if (!finding.ready || socket === undefined) return finding;
  const why = await endedLately(host, socket, Date.now());
  return why === undefined ? finding : { ready: false, reason: 'StaticPodCrashLoop', why };
}

/** Pauses; throws the signal's own reason when it is aborted, not a generic AbortError. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function ownNode(
  host: QueryHost,
  demand: ReadinessDemand,
  signal: AbortSignal | undefined,
): Promise<{ readonly node: NodeView } | NotReady> {
  const missing = (why: string) => ({ ready: false, reason: 'NodeNotRegistered', why }) as const;
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    if (credential === undefined) return missing(`${KUBELET_KUBECONFIG} does not exist`);
    const name = ownNodeName(credential, demand);
    const answer = await getNode(credential, name, signal);
    if (answer.kind === 'absent') return missing(`the API server has no Node ${name}`);
    if (answer.kind !== 'found') return { ready: false, reason: 'NodeStateUnknown', why: answer.why };
    const node = answer.object;
    const why = otherMachine(node, demand);
    return why === undefined ? { node } : mismatch(why);
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return missing(error.message);
    throw error;
  }
}

function mismatch(why: string): NotReady {
  return { ready: false, reason: 'NodeIdentityMismatch', why };
}

/**
 * Says how a Node is another machine's, or undefined. All identities count where both sides know them: clones may share
 * a machine-id, containers share the kernel's boot id, and a Node from before a reboot carries the old boot id until
 * the kubelet of this boot has reported.
 */
function otherMachine(node: NodeView, self: ReportedIdentity): string | undefined {
  if (node.machineId === '' && node.bootId === '') return `Node ${node.name} does not say which machine it is yet`;
  for (const [what, theirs, ours] of [
    ['machine ID', node.machineId, self.machineId],
    ['boot ID', node.bootId, self.bootId],
    ['system UUID', node.systemUuid, self.systemUuid ?? ''],
  ] as const) {
    if (theirs !== '' && ours !== '' && theirs !== ours) {
      return `Node ${node.name} has the ${what} ${theirs}, this machine has ${ours}`;
    }
  }
  return undefined;
}

function describeNotReady(node: NodeView): string {
  if (node.ready === undefined) return `Node ${node.name} has no Ready condition yet`;
  const { status, reason, message } = node.ready;
  return `Node ${node.name} has Ready=${status} (${[reason, message].filter((part) => part !== '').join(': ')})`;
}
