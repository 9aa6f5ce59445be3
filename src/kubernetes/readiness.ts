import { setTimeout as pause } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '../document/errors.ts';
import type { ReadyModel } from '../document/model.ts';
import type { Reason } from '../document/reasons.ts';
import type { ReportedIdentity } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import { KubeconfigUnusable, readKubeconfig } from '../host/kubeconfig.ts';
import { nodeNameOfCertificate } from '../host/kubelet-credential.ts';
import { kubeletHealth } from './kubelet-health.ts';
import { getNode, type NodeView } from './node-client.ts';
import { KUBELET_KUBECONFIG } from './paths.ts';

/**
 * What must be true before this machine counts as bootstrapped. Its identity is what the kubelet fills nodeInfo from: on Linux /etc/machine-id and /proc/sys/kernel/random/boot_id
 * (cadvisor).
 */
export interface ReadinessDemand extends ReportedIdentity {
  readonly require: ReadyModel['require'];
  readonly nodeName: string;
  /**
   * True where the document names the node. Otherwise the name in the kubelet's certificate wins over the expected one:
   * a hook may have put another name into kubeadm's configuration.
   */
  readonly nodeNameGiven: boolean;
  /** Compared with the Node's where given. */
  readonly providerId: string | undefined;
}

/** What one look found: ready, or the reason why not with what proves it. */
export type Finding =
  | { readonly ready: true }
  | {
      readonly ready: false;
      readonly reason: Extract<
        Reason,
        'KubeletNotHealthy' | 'NodeNotRegistered' | 'NodeIdentityMismatch' | 'NodeNotReady'
      >;
      /** One line: what was seen. */
      readonly why: string;
      /** True where nobody could be asked, so that it may be otherwise. */
      readonly unknown?: true;
    };

type NotReady = Exclude<Finding, { readonly ready: true }>;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 3_000;

/**
 * Looks once. The Node is asked for with the kubelet's own credential, so that the answer also proves that the
 * credential works; the kubelet may always get its own Node (k/k plugin/pkg/auth/authorizer/node).
 */
export async function probeReadiness(host: QueryHost, demand: ReadinessDemand, signal?: AbortSignal): Promise<Finding> {
  const kubelet = await kubeletHealth(host, signal);
  if (!kubelet.healthy) return { ready: false, reason: 'KubeletNotHealthy', why: kubelet.why };
  if (demand.require === 'KubeletHealthy') return { ready: true };

  const registered = await ownNode(host, demand, signal);
  if (!('node' in registered)) return registered;
  const { node } = registered;
  if (demand.providerId !== undefined && node.providerId !== demand.providerId) {
    const found = node.providerId === '' ? 'none yet' : node.providerId;
    return mismatch(`Node ${node.name} has the provider ID ${found}, the document says ${demand.providerId}`);
  }
  if (demand.require === 'NodeRegistered' || node.ready?.status === 'True') return { ready: true };
  return { ready: false, reason: 'NodeNotReady', why: describeNotReady(node) };
}

/**
 * Waits until the demand is met.
 *
 * @param options.waitingFor told what is being waited for, whenever that changes
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
): Promise<void> {
  const { signal, waitingFor, timeoutMs } = options;
  // Not the wall clock: time synchronisation moves it just when a machine boots.
  const end = performance.now() + timeoutMs;
  let rest = FIRST_PAUSE_MS;
  for (;;) {
    const finding = await probeReadiness(host, demand, signal);
    if (finding.ready) return waitingFor(undefined);
    waitingFor(describeWait(finding, demand));
    const left = end - performance.now();
    if (left <= 0) throw notReady(finding, demand, timeoutMs);
    await sleep(Math.min(rest, left), signal);
    rest = Math.min(rest * 1.3, LONGEST_PAUSE_MS);
  }
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
  const missing = (why: string): NotReady => ({ ready: false, reason: 'NodeNotRegistered', why });
  try {
    const credential = await readKubeconfig(host, KUBELET_KUBECONFIG);
    if (credential === undefined) return missing(`${KUBELET_KUBECONFIG} does not exist`);
    const own = demand.nodeNameGiven ? undefined : nodeNameOfCertificate(credential.certificate);
    const name = own ?? demand.nodeName;
    const answer = await getNode(credential, name, signal);
    if (answer.kind === 'absent') return missing(`the API server has no Node ${name}`);
    if (answer.kind !== 'found') return { ...missing(answer.why), unknown: true };
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
export function otherMachine(node: NodeView, self: ReportedIdentity): string | undefined {
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

function describeWait(finding: NotReady, demand: ReadinessDemand): string {
  const what = {
    KubeletNotHealthy: 'the kubelet to be healthy',
    NodeNotRegistered: `Node ${demand.nodeName} to be registered`,
    NodeIdentityMismatch: `Node ${demand.nodeName} to be this machine's`,
    NodeNotReady: `Node ${demand.nodeName} to be Ready`,
  }[finding.reason];
  return `${what}: ${finding.why}`;
}

const REMEDIES = {
  KubeletNotHealthy:
    'Read why the kubelet does not start (journalctl -u kubelet), mend it, and run machineadm provision again.',
  NodeNotRegistered:
    'Check that this machine reaches the API server and that its certificate request was approved (kubectl get csr), then run machineadm provision again.',
  NodeIdentityMismatch:
    'If another machine owns the Node, give this one a name of its own (kubernetes.node.name, host.hostname). If it is left over from a machine that is gone, delete it (kubectl delete node) and restart the kubelet. For a provider ID, correct kubernetes.node.providerID.',
  NodeNotReady:
    'Read the condition in the evidence; most often no pod network is installed yet. Set kubernetes.ready.require to NodeRegistered where the network comes later.',
} as const;

function notReady(finding: NotReady, demand: ReadinessDemand, timeoutMs: number): MachineadmError {
  const after = `within ${Math.round(timeoutMs / 1000)} s`;
  const summary = {
    KubeletNotHealthy: `The kubelet did not become healthy ${after}: ${finding.why}.`,
    NodeNotRegistered: `Node ${demand.nodeName} was not registered ${after}: ${finding.why}.`,
    NodeIdentityMismatch: `The Node named ${demand.nodeName} is not this machine's: ${finding.why}.`,
    NodeNotReady: `Node ${demand.nodeName} did not become Ready ${after}: ${finding.why}.`,
  }[finding.reason];
  const evidence: Evidence = {
    source: finding.reason === 'KubeletNotHealthy' ? 'kubelet healthz' : 'API server',
    text: finding.why,
  };
  return new MachineadmError({
    reason: finding.reason,
    exit: 'NotReady',
    summary,
    remedy: REMEDIES[finding.reason],
    evidence: [evidence],
    retryable: finding.reason !== 'NodeIdentityMismatch',
  });
}
