import { type Failure, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { EndpointTrouble } from '../host/cluster/endpoint-trouble.ts';

/** Why a machine does not count as a working node, with the observation. */
export type NotReady = OwnTrouble | EndpointNotReady;

/** The machine works, and the control-plane endpoint does not lead to it. */
interface EndpointNotReady {
  readonly ready: false;
  readonly reason: EndpointTrouble['reason'];
  readonly why: string;
  readonly endpoint: EndpointTrouble;
}

interface OwnTrouble {
  readonly ready: false;
  readonly endpoint?: never;
  readonly reason: Extract<
    Reason,
    | 'KubeletNotHealthy'
    | 'ControlPlaneComponentNotHealthy'
    | 'StaticPodCrashLoop'
    | 'EtcdMemberNotStarted'
    | 'EtcdLearnerNotInSync'
    | 'EtcdMemberRemoved'
    | 'NodeNotRegistered'
    | 'NodeStateUnknown'
    | 'NodeIdentityMismatch'
    | 'NodeNotReady'
  >;
  /** One line: the observation. */
  readonly why: string;
}

const REMEDIES = {
  KubeletNotHealthy:
    'Read why the kubelet does not start (journalctl -u kubelet), correct it, and run machineadm provision again.',
  ControlPlaneComponentNotHealthy:
    'Read the log of the component that the evidence names (crictl ps -a, crictl logs), correct it, and run machineadm provision again.',
  StaticPodCrashLoop:
    'Read the log of the component that the evidence names (crictl ps -a, crictl logs), and find what ends it.',
  EtcdMemberNotStarted:
    'Read the log of etcd (crictl ps -a, crictl logs), correct it, and run machineadm provision again.',
  EtcdLearnerNotInSync:
    'Check the disk and the network between the control planes; once etcd has caught up, promote the member (etcdctl member promote) or run machineadm provision again.',
  EtcdMemberRemoved:
    'This member was removed from the etcd cluster. Run machineadm reset and machineadm provision to join it again.',
  NodeNotRegistered:
    'Check that this machine reaches the API server and that its certificate request was approved (kubectl get csr), then run machineadm provision again.',
  NodeStateUnknown:
    'Check that this machine reaches the API server, and that the API server answers in time. Then run machineadm provision again.',
  NodeIdentityMismatch:
    'If another machine owns the Node, give this one a unique name (kubernetes.node.name, host.hostname). If it is left over from a machine that is gone, delete it (kubectl delete node) and restart the kubelet. For a provider ID, correct kubernetes.node.providerID.',
  NodeNotReady:
    'Read the condition in the evidence; most often no pod network is installed yet. Set kubernetes.ready.require to NodeRegistered where the network comes later.',
} as const satisfies Record<OwnTrouble['reason'], string>;

/** The source of the observation, where it is not the API server's answer about the Node. */
const SOURCES: Partial<Record<OwnTrouble['reason'], string>> = {
  KubeletNotHealthy: 'kubelet healthz',
  ControlPlaneComponentNotHealthy: 'health of the control plane',
  StaticPodCrashLoop: 'container runtime',
  EtcdMemberNotStarted: 'members of etcd',
  EtcdLearnerNotInSync: 'members of etcd',
  EtcdMemberRemoved: 'members of etcd',
};

/** What is being waited for, and the last observation. */
export function describeWait({ reason, why, endpoint }: NotReady, nodeName: string): string {
  if (endpoint !== undefined) return `the control-plane endpoint to lead to this cluster: ${why}`;
  const what = {
    KubeletNotHealthy: 'the kubelet to be healthy',
    ControlPlaneComponentNotHealthy: 'the control plane of this machine to be healthy',
    StaticPodCrashLoop: 'the control plane of this machine to stay up',
    EtcdMemberNotStarted: 'etcd of this machine to start',
    EtcdLearnerNotInSync: 'etcd of this machine to become a voting member',
    EtcdMemberRemoved: 'etcd of this machine to be a member',
    NodeNotRegistered: `Node ${nodeName} to be registered`,
    NodeStateUnknown: `the API server to tell about Node ${nodeName}`,
    NodeIdentityMismatch: `Node ${nodeName} to be this machine's`,
    NodeNotReady: `Node ${nodeName} to be Ready`,
  }[reason];
  return `${what}: ${why}`;
}

/** The finding as a failure; `waitedMs` is the time spent waiting, if any. */
export function failureOfFinding(finding: NotReady, nodeName: string, waitedMs?: number): Failure {
  const after = waitedMs === undefined ? '' : ` within ${Math.round(waitedMs / 1000)} s`;
  if (finding.endpoint !== undefined) return failureOfEndpoint(finding.endpoint, after);
  const { reason, why } = finding;
  const [become, was] = waitedMs === undefined ? ['is not', 'is not'] : ['did not become', 'was not'];
  const summary = {
    KubeletNotHealthy: `The kubelet ${become} healthy${after}: ${why}.`,
    ControlPlaneComponentNotHealthy: `The control plane of this machine ${become} healthy${after}: ${why}.`,
    StaticPodCrashLoop: `The control plane of this machine does not stay up: ${why}.`,
    EtcdMemberNotStarted: `The member of etcd on this machine ${become === 'is not' ? 'has not started' : 'did not start'}${after}: ${why}.`,
    EtcdLearnerNotInSync: `The member of etcd on this machine ${become} a voting member${after}: ${why}.`,
    EtcdMemberRemoved: `The etcd of this machine is not a member of its cluster: ${why}.`,
    NodeNotRegistered: `Node ${nodeName} ${was} registered${after}: ${why}.`,
    NodeStateUnknown: `Whether Node ${nodeName} is registered ${waitedMs === undefined ? 'is not known' : `was not known${after}`}: ${why}.`,
    NodeIdentityMismatch: `The Node named ${nodeName} is not this machine's: ${why}.`,
    NodeNotReady: `Node ${nodeName} ${become} Ready${after}: ${why}.`,
  }[reason];
  return {
    reason,
    summary,
    evidence: [{ source: SOURCES[reason] ?? 'API server', text: why }],
    remedy: REMEDIES[reason],
    retryable: reason !== 'NodeIdentityMismatch' && reason !== 'EtcdMemberRemoved',
  };
}

/** Says which of the two failed: the control plane itself was found to work before its endpoint was asked. */
function failureOfEndpoint({ reason, text, remedy }: EndpointTrouble, after: string): Failure {
  return {
    reason,
    summary: `The control plane of this machine works, but its endpoint did not lead to it${after}: ${text}.`,
    evidence: [{ source: 'control-plane endpoint', text }],
    remedy: `${remedy} Where the load balancer comes after the first control plane, set kubernetes.ready.endpoint to Later.`,
    retryable: !NEEDS_OPERATOR.has(reason),
  };
}

const NEEDS_OPERATOR: ReadonlySet<Reason> = new Set<EndpointTrouble['reason']>([
  'APIEndpointNotTLS',
  'APIEndpointOtherCluster',
  'APIServerCertSANMismatch',
  'APIServerCertUntrusted',
]);

/** The same as an error that ends a run. */
export function notReady(finding: NotReady, nodeName: string, waitedMs: number): MachineadmError {
  return new MachineadmError({ ...failureOfFinding(finding, nodeName, waitedMs), exit: 'NotReady' });
}
