import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import { ClusterUnanswered } from './cluster.ts';
import { askSettled } from './settled.ts';

/** A pod of this node. */
export interface NodePod {
  /** `namespace/name` */
  readonly name: string;
  readonly uid: string;
  /** Whether something creates it again elsewhere. */
  readonly isManaged: boolean;
  /** Whether it loses the content of an emptyDir volume. */
  readonly hasEmptyDir: boolean;
  readonly isTerminating: boolean;
}

/** On the pods with which Cluster API starts an upgrade (packages/translator/src/updates/launch.ts). */
const UPDATE_LABEL = 'machineadm.dev/update';
const PAUSE_MS = 2_000;
/** policy/v1 has Eviction since 1.22 (k/k#100724). */
const POLICY_V1_MINOR = 22;

/** The pods of a node, as the API server has them. Throws `ClusterUnanswered`. */
export async function podsOf(
  credential: ApiCredential,
  node: string,
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${encodeURIComponent(node)}`;
  const answer = await askSettled(credential, { path, signal, timeoutMs: 30_000 });
  if (answer.kind !== 'found') throw new ClusterUnanswered(answer.kind === 'absent' ? 'no pods' : answer.why);
  const items = member(answer.object, 'items');
  return Array.isArray(items) ? items : [];
}

/** Whether the kubelet makes a pod from a manifest of its own. */
export function isStatic(pod: unknown): boolean {
  return member(member(member(pod, 'metadata'), 'annotations'), 'kubernetes.io/config.mirror') !== undefined;
}

/** What makes a pod again: the owner that is its controller. */
export function controllerOf(pod: unknown): unknown {
  const owners = member(member(pod, 'metadata'), 'ownerReferences');
  return Array.isArray(owners) ? owners.find((one) => member(one, 'controller') === true) : undefined;
}

/** `namespace/name` */
export function nameOf(pod: unknown): string {
  const metadata = member(pod, 'metadata');
  return `${text(member(metadata, 'namespace')) ?? ''}/${text(member(metadata, 'name')) ?? ''}`;
}

/**
 * The pods that a drain evicts, as kubectl decides it (k8s.io/kubectl pkg/drain/filters.go): not static pods, not those of
 * DaemonSets. Throws `ClusterUnanswered`.
 */
export async function podsToEvict(
  credential: ApiCredential,
  node: string,
  signal?: AbortSignal,
): Promise<readonly NodePod[]> {
  return (await podsOf(credential, node, signal)).flatMap(evictable);
}

function evictable(pod: unknown): readonly NodePod[] {
  const metadata = member(pod, 'metadata');
  const controller = controllerOf(pod);
  if (isStatic(pod) || text(member(controller, 'kind')) === 'DaemonSet') return [];
  // It started this upgrade, or an earlier one.
  if (member(member(metadata, 'labels'), UPDATE_LABEL) !== undefined) return [];
  const phase = text(member(member(pod, 'status'), 'phase'));
  const hasEnded = phase === 'Succeeded' || phase === 'Failed';
  const volumes = member(member(pod, 'spec'), 'volumes');
  const hasEmptyDir = Array.isArray(volumes) && volumes.some((one) => isRecord(member(one, 'emptyDir')));
  return [
    {
      name: nameOf(pod),
      uid: text(member(metadata, 'uid')) ?? '',
      isManaged: controller !== undefined || hasEnded,
      hasEmptyDir: hasEmptyDir && !hasEnded,
      isTerminating: member(metadata, 'deletionTimestamp') !== undefined,
    },
  ];
}

/** Forbids new pods on a Node, or allows them again. Throws `ClusterUnanswered`. */
export async function setUnschedulable(
  credential: ApiCredential,
  node: string,
  unschedulable: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ spec: { unschedulable: unschedulable ? true : null } });
  const answer = await askSettled(credential, {
    path: `/api/v1/nodes/${encodeURIComponent(node)}`,
    patch: { contentType: 'application/merge-patch+json', body },
    signal,
  });
  if (answer.kind !== 'found') throw new ClusterUnanswered(answer.kind === 'absent' ? `no Node ${node}` : answer.why);
}

/** Why a pod cannot be evicted now; undefined: it can, or it is gone. */
export type Eviction = string | undefined;

/**
 * Evicts a pod, which respects PodDisruptionBudgets.
 *
 * @param minor of the API server
 * @param dryRun only asks: the API server changes nothing
 */
export async function evict(
  credential: ApiCredential,
  { name, uid }: Pick<NodePod, 'name' | 'uid'>,
  { minor, dryRun, signal }: { readonly minor: number; readonly dryRun: boolean; readonly signal?: AbortSignal },
): Promise<Eviction> {
  const [namespace = '', pod = ''] = name.split('/');
  const post = {
    apiVersion: minor >= POLICY_V1_MINOR ? 'policy/v1' : 'policy/v1beta1',
    kind: 'Eviction',
    metadata: { name: pod, namespace },
    deleteOptions: { preconditions: { uid }, ...(dryRun ? { dryRun: ['All'] } : {}) },
  };
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/eviction`;
  const answer = await askSettled(credential, { path, post, signal });
  if (answer.kind === 'found' || answer.kind === 'absent') return undefined;
  return answer.why;
}

/**
 * Evicts all pods and waits until they are gone. A budget that allows no disruption now is asked again until the deadline.
 *
 * @throws MachineadmError `DrainNotPossible`
 */
export async function drainNode(
  credential: ApiCredential,
  node: string,
  options: {
    readonly minor: number;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly waitingFor: (what: string | undefined) => void;
  },
): Promise<void> {
  const { signal, minor, timeoutMs, waitingFor } = options;
  const end = performance.now() + timeoutMs;
  for (;;) {
    const left = await podsToEvict(credential, node, signal);
    if (left.length === 0) return waitingFor(undefined);
    const refused: string[] = [];
    for (const pod of left.filter(({ isTerminating }) => !isTerminating)) {
      const why = await evict(credential, pod, { minor, dryRun: false, signal });
      if (why !== undefined) refused.push(`${pod.name}: ${why}`);
    }
    waitingFor(`${count(left)} to leave this node${refused[0] === undefined ? '' : ` (${refused[0]})`}`);
    if (performance.now() > end) throw notDrained(node, left, refused);
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/** `one pod`, `3 pods` */
export function count(pods: readonly unknown[]): string {
  return pods.length === 1 ? 'one pod' : `${pods.length} pods`;
}

function notDrained(node: string, left: readonly NodePod[], refused: readonly string[]): MachineadmError {
  const names = left.map(({ name }) => name);
  return new MachineadmError({
    reason: 'DrainNotPossible',
    exit: 'HostStepFailed',
    summary: `${count(left)} did not leave the node ${node}: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}.`,
    remedy:
      'Make room for them elsewhere, or raise the PodDisruptionBudgets, then run machineadm upgrade again: it continues. The node stays cordoned.',
    evidence: (refused.length > 0 ? refused : names).slice(0, 20).map((text) => ({ source: 'eviction', text })),
    retryable: true,
  });
}
