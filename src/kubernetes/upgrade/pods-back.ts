import { setTimeout as pause } from 'node:timers/promises';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import { controllerOf, isStatic, nameOf, podsOf } from './drain.ts';

const PAUSE_MS = 1_000;

/**
 * The pods that stay on a node through a drain and are Ready: the names of static pods and of DaemonSets, as
 * `static pod kube-system/etcd-node-1` and `DaemonSet kube-system/kube-proxy`. Throws `ClusterUnanswered`.
 */
export async function readyPods(
  credential: ApiCredential,
  node: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const found = await stayingPods(credential, node, signal);
  return [...found].flatMap(([name, isReady]) => (isReady ? [name] : [])).sort();
}

/**
 * Waits until these pods are Ready again. One that has no pod at all is waited for a shorter time: it
 * may have been deleted, or its DaemonSet may not want it here any more.
 *
 * @param names as `readyPods` gives them
 * @returns those that are there and not Ready at the end. Throws `ClusterUnanswered`.
 */
export async function podsNotBack(
  credential: ApiCredential,
  node: string,
  names: readonly string[],
  options: {
    readonly timeoutMs: number;
    /** How long one that has no pod at all is waited for. */
    readonly absentMs: number;
    readonly signal: AbortSignal;
    readonly waitingFor: (what: string | undefined) => void;
  },
): Promise<readonly string[]> {
  const { timeoutMs, absentMs, signal, waitingFor } = options;
  const start = performance.now();
  for (;;) {
    const found = names.length === 0 ? new Map<string, boolean>() : await stayingPods(credential, node, signal);
    const elapsed = performance.now() - start;
    const awaited = names.filter((name) => found.get(name) === false || (!found.has(name) && elapsed < absentMs));
    waitingFor(awaited.length === 0 ? undefined : `${awaited.slice(0, 3).join(', ')} to be Ready again`);
    if (awaited.length === 0 || elapsed > timeoutMs) return awaited;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/** Whether what makes them has a Ready pod on this node. */
async function stayingPods(
  credential: ApiCredential,
  node: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, boolean>> {
  const found = new Map<string, boolean>();
  for (const pod of await podsOf(credential, node, signal)) {
    const name = isStatic(pod) ? `static pod ${nameOf(pod)}` : daemonSetOf(pod);
    if (name !== undefined) found.set(name, isReady(pod) || found.get(name) === true);
  }
  return found;
}

function daemonSetOf(pod: unknown): string | undefined {
  const controller = controllerOf(pod);
  if (text(member(controller, 'kind')) !== 'DaemonSet') return undefined;
  return `DaemonSet ${text(member(member(pod, 'metadata'), 'namespace')) ?? ''}/${text(member(controller, 'name')) ?? ''}`;
}

function isReady(pod: unknown): boolean {
  const conditions = member(member(pod, 'status'), 'conditions');
  return (
    Array.isArray(conditions) &&
    conditions.some((one) => text(member(one, 'type')) === 'Ready' && text(member(one, 'status')) === 'True')
  );
}
