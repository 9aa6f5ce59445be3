import * as z from 'zod';
import { isStatus } from '../cluster/api.ts';
import { OwnerReference } from '../cluster/objects.ts';
import type { WorkloadApi } from '../provider/workload-api.ts';
import { inWorkload } from '../provider/workloads.ts';

/** On a Node that was cordoned for an update, and by nobody else. */
const CORDONED = 'machineadm.dev/cordoned-for-update';
/** Of Cluster API, on pods that a drain leaves (api/core/v1beta2, MachineDrainRule behaviour). */
const DRAIN_LABEL = 'cluster.x-k8s.io/drain';
/** A page of pods is far below the largest answer of a workload cluster. */
const PAGE = 20;

const Node = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.looseObject({ unschedulable: z.boolean().nullish() }).default({}),
  status: z.looseObject({ nodeInfo: z.looseObject({ kubeletVersion: z.string() }) }),
});

/** What a Node says. */
export interface NodeState {
  readonly name: string;
  readonly kubeletVersion: string;
  readonly isLinux: boolean;
  readonly isCordoned: boolean;
  /** It was schedulable before the update. */
  readonly isCordonedByUs: boolean;
  readonly hasAnnotations: boolean;
}

const pathOf = (name: string): string => `/api/v1/nodes/${encodeURIComponent(name)}`;

/** Reads a Node. Throws `NotReady`. */
export async function readNode(api: WorkloadApi, name: string, signal: AbortSignal): Promise<NodeState> {
  return await inWorkload(async () => {
    const { metadata, spec, status } = Node.parse(await api.request({ path: pathOf(name), signal }));
    return {
      name,
      kubeletVersion: status.nodeInfo.kubeletVersion,
      isLinux: metadata.labels?.['kubernetes.io/os'] !== 'windows',
      isCordoned: spec.unschedulable === true,
      isCordonedByUs: metadata.annotations?.[CORDONED] !== undefined,
      hasAnnotations: metadata.annotations !== undefined && metadata.annotations !== null,
    };
  });
}

/** Forbids new pods on a Node, and notes that the update did it: both in one change. */
export async function cordon(api: WorkloadApi, node: NodeState, signal: AbortSignal): Promise<void> {
  if (node.isCordoned) return;
  await patchNode(api, node, signal, [
    ...(node.hasAnnotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} }]),
    { op: 'add', path: `/metadata/annotations/${CORDONED.replace('/', '~1')}`, value: '' },
    { op: 'add', path: '/spec/unschedulable', value: true },
  ]);
}

/** Allows new pods again, where the update forbade them. */
export async function uncordon(api: WorkloadApi, node: NodeState, signal: AbortSignal): Promise<void> {
  if (!node.isCordonedByUs) return;
  await patchNode(api, node, signal, [
    { op: 'remove', path: `/metadata/annotations/${CORDONED.replace('/', '~1')}` },
    ...(node.isCordoned ? [{ op: 'remove', path: '/spec/unschedulable' }] : []),
  ]);
}

async function patchNode(api: WorkloadApi, { name }: NodeState, signal: AbortSignal, body: readonly object[]) {
  const contentType = 'application/json-patch+json';
  await inWorkload(() => api.request({ method: 'PATCH', path: pathOf(name), contentType, body, signal }));
}

const Pod = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
    ownerReferences: z.array(OwnerReference.extend({ controller: z.boolean().nullish() })).nullish(),
  }),
});
const PodPage = z.looseObject({
  metadata: z.looseObject({ continue: z.string().nullish() }).default({}),
  items: z.array(Pod),
});
type Pod = z.infer<typeof Pod>;

/**
 * Evicts the pods of a Node that a drain of Cluster API evicts: not static pods, not those of DaemonSets, not those that are
 * labelled to stay (cluster-api internal/controllers/machine/drain). Gives what is still there; undefined: nothing is.
 *
 * @param ours a label of pods that are part of the update
 */
export async function drain(
  api: WorkloadApi,
  node: string,
  ours: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const pods = (await podsOn(api, node, signal)).filter((pod) => mustLeave(pod, ours));
  const blocked: string[] = [];
  for (const { metadata } of pods) {
    const { name, namespace, uid } = metadata;
    if ((metadata.deletionTimestamp ?? undefined) !== undefined) continue;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/eviction`;
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    };
    try {
      await api.request({ method: 'POST', path, body, signal });
    } catch (error) {
      // 429: a PodDisruptionBudget allows no disruption now. 409: another pod has the name by now.
      if (isStatus(error, 429)) blocked.push(`${namespace}/${name}`);
      else if (!isStatus(error, 404) && !isStatus(error, 409)) await inWorkload(() => Promise.reject(error));
    }
  }
  if (pods.length === 0) return undefined;
  const count = pods.length === 1 ? 'one pod has' : `${pods.length} pods have`;
  const budgets = blocked.length === 0 ? '' : `; a PodDisruptionBudget forbids it now: ${some(blocked)}`;
  return `${count} to leave the node: ${some(pods.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`))}${budgets}`;
}

function some(names: readonly string[]): string {
  return `${names.slice(0, 3).join(', ')}${names.length > 3 ? `, and ${names.length - 3} more` : ''}`;
}

function mustLeave({ metadata: { labels, annotations, ownerReferences } }: Pod, ours: string): boolean {
  if (annotations?.['kubernetes.io/config.mirror'] !== undefined || labels?.[ours] !== undefined) return false;
  if (labels?.[DRAIN_LABEL]?.toLowerCase() === 'skip') return false;
  return ownerReferences?.find(({ controller }) => controller === true)?.kind !== 'DaemonSet';
}

async function podsOn(api: WorkloadApi, node: string, signal: AbortSignal): Promise<readonly Pod[]> {
  const pods: Pod[] = [];
  const selector = `fieldSelector=${encodeURIComponent(`spec.nodeName=${node}`)}&limit=${PAGE}`;
  for (let next = ''; ; ) {
    const path = `/api/v1/pods?${selector}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
    const { items, metadata } = await inWorkload(async () => PodPage.parse(await api.request({ path, signal })));
    pods.push(...items);
    next = metadata.continue ?? '';
    if (next === '') return pods;
  }
}
