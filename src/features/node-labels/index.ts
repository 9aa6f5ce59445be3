import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesModel, Taint } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import {
  addTaints,
  administrator,
  formatTaint,
  handoverOf,
  type Marked,
  missingTaints,
  type NodeMarks,
  type OwnName,
  readNodeMarks,
  setLabel,
} from '../../kubernetes/node-labels.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, StepRecord } from '../../step/index.ts';

export interface NodeLabelsDesired extends OwnName {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly role: KubernetesModel['role'];
  readonly sentinelPath: string;
}

export interface NodeLabelsActual {
  /** undefined: there is no such Node yet, or it cannot be read. */
  readonly node: NodeMarks | undefined;
  /** The labels that an earlier run set, or was about to. */
  readonly owned: ReadonlyMap<string, string>;
  /**
   * Whether the Node lacks the taints because it existed before its kubelet registered. Otherwise it had them, and a controller or
   * an operator has removed them since, as Cluster API does with `node.cluster.x-k8s.io/uninitialized`.
   */
  readonly wasThere: boolean;
  /** Why this machine may not set them itself; undefined: it may. */
  readonly whyNot: string | undefined;
}

export type NodeLabelsPayload = { readonly desired: NodeLabelsDesired } & (
  | { readonly kind: 'label'; readonly key: string; readonly value: string | null }
  | { readonly kind: 'taints' }
);

const LABEL = 'node-labels/';
const TAINTS = 'node-labels/taints of the document';
/** An API server that restarts, or a Node that its controllers change, accepts it within this time. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * Labels that a kubelet may not set for itself (k/k plugin/pkg/admission/noderestriction), and taints of a Node that existed before
 * its kubelet registered, with which `--register-with-taints` has no effect. A control plane sets them with admin.conf. Other
 * machines have no such credential: the run reports what the management side must set.
 */
export const nodeLabels: FeatureStep<NodeLabelsDesired, NodeLabelsActual, NodeLabelsPayload> = {
  id: 'node-labels',
  section: 'kubernetes.node.labels',
  isRequested: STAYS,
  leaves: 'the labels and taints of the Node object in the cluster',

  desired(model, facts) {
    const { kubernetes, reporting } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    const { node, role } = kubernetes;
    return {
      labels: node.reservedLabels,
      taints: node.taints ?? [],
      role,
      nodeName: expectedNodeName(kubernetes, model, facts),
      nodeNameGiven: node.name !== undefined,
      sentinelPath: reporting.sentinelPath,
    };
  },

  idle: ({ labels, taints }, record) =>
    Object.keys(labels).length === 0 &&
    ownedLabels(record).size === 0 &&
    (taints.length === 0 || record.notes.has(TAINTS)),

  async inspect(host, desired, record) {
    const marks = await readNodeMarks(host, desired);
    const admin = desired.role === 'Worker' ? { why: 'a worker has no credential for it' } : await administrator(host);
    const isKnown = 'labels' in marks;
    const settled = record.notes.has(TAINTS) || (await host.stat(desired.sentinelPath)) !== undefined;
    return {
      node: isKnown ? marks : undefined,
      owned: ownedLabels(record),
      wasThere: isKnown && !settled && (await existedBefore(host, marks)),
      // Before the join, a control plane has no admin.conf yet.
      whyNot: 'why' in admin && (isKnown || desired.role === 'Worker') ? admin.why : undefined,
    };
  },

  plan(desired, { node, owned, wasThere, whyNot }) {
    if (whyNot !== undefined) return [];
    const changes: Change<NodeLabelsPayload>[] = [];
    const label = (key: string, value: string | null, summary: string, action: 'add' | 'change' | 'remove') =>
      changes.push({
        ...COMMON,
        id: `${LABEL}${key}`,
        summary,
        action,
        payload: { desired, kind: 'label', key, value },
      });
    for (const [key, value] of Object.entries(desired.labels)) {
      const has = node === undefined ? owned.get(key) : node.labels.get(key);
      if (has === value) continue;
      label(
        key,
        value,
        `label ${key}=${value} of the Node${has === undefined ? '' : ` (now: ${has})`}`,
        has === undefined ? 'add' : 'change',
      );
    }
    for (const [key, value] of owned) {
      // A value that others have set since is theirs.
      if (Object.hasOwn(desired.labels, key) || node?.labels.get(key) !== value) continue;
      label(key, null, `label ${key} of the Node: remove, the document no longer requests it`, 'remove');
    }
    const missing = node !== undefined && wasThere ? missingTaints(desired.taints, node) : [];
    if (missing.length > 0) {
      const summary = `taints of the Node: ${missing.map(formatTaint).join(', ')}, which it lacks because it existed before the kubelet registered`;
      changes.push({ ...COMMON, id: TAINTS, summary, action: 'add', payload: { desired, kind: 'taints' } });
    }
    return changes;
  },

  remarks(desired, _record, { node, wasThere, whyNot }) {
    const labels = Object.entries(desired.labels);
    if (whyNot === undefined || (labels.length === 0 && (desired.taints.length === 0 || !wasThere))) return [];
    const missing = labels.filter(([key, value]) => node?.labels.get(key) !== value);
    const taints = node !== undefined && wasThere ? missingTaints(desired.taints, node) : [];
    return [handoverOf(node?.name ?? desired.nodeName, missing, taints, node)];
  },

  async apply(host, { payload }, execution) {
    const admin = await administrator(host);
    if ('why' in admin) throw notSet({ kind: 'again', why: admin.why });
    const { desired } = payload;
    if (payload.kind === 'label') {
      const { key, value } = payload;
      // Before the label: one that a killed run has set is ours, too.
      execution.remember({ value });
      await untilDone(execution, `the label ${key} of the Node`, async () => {
        const node = await nodeOf(host, desired, execution);
        return 'why' in node ? node : await setLabel(admin, node.name, key, value, execution.signal);
      });
      return;
    }
    await untilDone(execution, 'the taints of the Node', async () => {
      const node = await nodeOf(host, desired, execution);
      return 'why' in node ? node : await taint(admin, node, desired.taints, execution.signal);
    });
    execution.remember({ taints: desired.taints.map(formatTaint) });
  },
};

/** Clocks differ; a machine whose old Node was there in its last minute before the join keeps that Node's taints. */
const CLOCK_SKEW_MS = 60_000;

/** kubeadm and the kubelet write the kubeconfig before the kubelet registers. */
async function existedBefore(host: QueryHost, { createdMs }: NodeMarks): Promise<boolean> {
  const joinedMs = (await host.stat(KUBELET_KUBECONFIG))?.modifiedMs;
  return createdMs !== undefined && joinedMs !== undefined && createdMs < joinedMs - CLOCK_SKEW_MS;
}

const COMMON = { scope: 'node', knownAfter: 'kubeadm', ineffective: 'NodeLabelsNotSet' } as const;

async function nodeOf(host: Host, desired: NodeLabelsDesired, { signal }: Execution) {
  const node = await readNodeMarks(host, desired, signal);
  return 'why' in node ? ({ kind: 'again', why: node.why } as const) : node;
}

async function taint(
  admin: ApiCredential,
  node: NodeMarks,
  wanted: readonly Taint[],
  signal: AbortSignal,
): Promise<Marked> {
  const missing = missingTaints(wanted, node);
  return missing.length === 0 ? { kind: 'done' } : await addTaints(admin, node, missing, signal);
}

async function untilDone(execution: Execution, what: string, attempt: () => Promise<Marked>): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const result = await attempt();
    if (result.kind === 'done') return execution.waitingFor(undefined);
    if (result.kind === 'refused' || performance.now() >= until) throw notSet(result);
    execution.waitingFor(`${what} (${result.why})`);
    await delay(PAUSE_MS, undefined, { signal: execution.signal });
  }
}

function notSet({ kind, why }: Exclude<Marked, { kind: 'done' }>): MachineadmError {
  return new MachineadmError({
    reason: 'NodeLabelsNotSet',
    summary: `The labels and taints of the Node of this machine could not be set: ${why}.`,
    remedy:
      kind === 'refused'
        ? 'Correct the labels and taints of kubernetes.node, or the admission policy or rights that refuse them.'
        : 'Check the API server of this machine, and run machineadm provision again.',
    evidence: [{ source: 'kube-apiserver', text: why }],
    retryable: kind === 'again',
  });
}

/** What the journal knows of the labels that this document set. */
function ownedLabels({ notes }: Pick<StepRecord, 'notes'>): ReadonlyMap<string, string> {
  return new Map(
    [...notes].flatMap(([id, note]) => {
      const value = text(member(note, 'value'));
      return id.startsWith(LABEL) && value !== undefined ? [[id.slice(LABEL.length), value] as const] : [];
    }),
  );
}
