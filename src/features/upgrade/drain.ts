import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { ClusterUnanswered, nodeNamed, serverVersion } from '../../kubernetes/upgrade/cluster.ts';
import {
  count,
  drainNode,
  evict,
  type NodePod,
  podsToEvict,
  setUnschedulable,
} from '../../kubernetes/upgrade/drain.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { UnmetRequirement } from '../../step/index.ts';
import { type DrainOrder, type Upgrade, versionUpgrade } from '../../step/upgrade-order.ts';
import { drainCredential, DRAIN_CHANGE as RUN } from './cordon.ts';
import { nodeNameOf, type UpgradeDesired, upgradeDesired } from './desired.ts';

const MINUTE_MS = 60_000;
const TIMEOUT_MS = 15 * MINUTE_MS;
const MOST_NAMED = 5;

interface DrainActual {
  readonly upgrade: Upgrade | undefined;
  readonly isDone: boolean;
  /** undefined: not known. */
  readonly pods: readonly NodePod[] | undefined;
}

interface DrainPayload {
  readonly desired: UpgradeDesired;
  readonly drain: DrainOrder;
}

/** Cordons this node and evicts its pods, before its kubelet is replaced. The proof lets pods in again. */
export const upgradeDrain: FeatureStep<UpgradeDesired, DrainActual, DrainPayload> = {
  id: 'upgrade-drain',
  section: 'kubernetes.version',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, record) => versionUpgrade(record) === undefined,

  deadlineMs: () => TIMEOUT_MS + MINUTE_MS,

  async preflight(host, desired, record) {
    const drain = versionUpgrade(record)?.drain;
    if (record === undefined || drain?.by !== 'machineadm' || record.done.has(RUN)) return [];
    const found = await obstaclesOf(host, desired, drain);
    return found.map((one) => ({ ...one, change: RUN, scope: 'node', certain: true }));
  },

  async inspect(host, desired, record) {
    const upgrade = versionUpgrade(record);
    const isDone = record.done.has(RUN);
    const pods = upgrade === undefined || isDone ? undefined : await podsHere(host, desired, upgrade.drain);
    return { upgrade, isDone, pods };
  },

  remarks(_desired, _record, { upgrade, isDone, pods = [] }) {
    if (upgrade?.drain.by !== 'caller' || isDone || pods.length === 0) return [];
    return [`--drained was given, and ${count(pods)} that a drain would evict run on this node: ${named(pods)}`];
  },

  plan(desired, { upgrade, isDone, pods }) {
    if (upgrade === undefined || isDone || upgrade.drain.by === 'caller') return [];
    const what = pods === undefined ? 'its pods' : pods.length === 0 ? 'no pods' : `${count(pods)}: ${named(pods)}`;
    const { drain } = upgrade;
    const summary = `cordon this node and evict ${what}`;
    return [{ id: RUN, summary, action: 'run', scope: 'node', repeatable: false, payload: { desired, drain } }];
  },

  async apply(host, { payload: { desired, drain } }, execution) {
    const { signal } = execution;
    const credential = await drainCredential(host, desired, drain);
    const name = await nodeNameOf(host, desired);
    const node = await nodeNamed(credential, name, signal);
    if (node?.unschedulable === false) {
      // Before the change: a run after a kill finds the node cordoned, and must know who did it.
      execution.remember({ cordons: true });
      await setUnschedulable(credential, name, true, signal);
    }
    const minor = parseVersion(await serverVersion(credential, signal))?.minor ?? 0;
    const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
    await drainNode(credential, name, { minor, timeoutMs: TIMEOUT_MS, signal, waitingFor });
  },
};

async function obstaclesOf(
  host: QueryHost,
  desired: UpgradeDesired,
  drain: Extract<DrainOrder, { by: 'machineadm' }>,
): Promise<readonly UnmetRequirement[]> {
  if (!desired.isControlPlane && drain.kubeconfig === undefined) {
    return [
      impossible(
        'a worker has no right to evict its pods',
        'Drain it from elsewhere (kubectl drain) and add --drained, or name a kubeconfig that may evict pods with --kubeconfig.',
      ),
    ];
  }
  try {
    const credential = await drainCredential(host, desired, drain);
    const pods = await podsToEvict(credential, await nodeNameOf(host, desired));
    const lonely = pods.filter(({ isManaged }) => !isManaged);
    const emptied = drain.deletesEmptyDir === true ? [] : pods.filter(({ hasEmptyDir }) => hasEmptyDir);
    const minor = parseVersion(await serverVersion(credential))?.minor ?? 0;
    const blocked: string[] = [];
    for (const pod of pods) {
      const why = await evict(credential, pod, { minor, dryRun: true });
      if (why !== undefined) blocked.push(`${pod.name}: ${why}`);
    }
    return [
      ...(lonely.length === 0
        ? []
        : [
            impossible(
              `nothing creates ${named(lonely)} again elsewhere`,
              'Delete these pods, or drain the node yourself and add --drained.',
            ),
          ]),
      ...(emptied.length === 0
        ? []
        : [
            impossible(
              `${named(emptied)} would lose the content of emptyDir volumes`,
              'Allow it with --delete-emptydir-data, or drain the node yourself and add --drained.',
            ),
          ]),
      ...(blocked.length === 0
        ? []
        : [
            {
              ...impossible(
                `${count(blocked)} of this node cannot be evicted now: ${blocked.slice(0, MOST_NAMED).join('; ')}`,
                'Make room for them elsewhere, or raise the PodDisruptionBudgets.',
              ),
              evidence: blocked.map((text) => ({ source: 'eviction (dry run)', text })),
            },
          ]),
    ];
  } catch (error) {
    if (!(error instanceof ClusterUnanswered)) throw error;
    return [
      impossible(
        `the pods of this node cannot be listed: ${error.why}`,
        'Make sure that the API server answers and that the credential may list pods.',
      ),
    ];
  }
}

async function podsHere(
  host: QueryHost,
  desired: UpgradeDesired,
  drain: DrainOrder,
): Promise<readonly NodePod[] | undefined> {
  try {
    return await podsToEvict(await drainCredential(host, desired, drain), await nodeNameOf(host, desired));
  } catch (error) {
    if (error instanceof ClusterUnanswered) return undefined;
    throw error;
  }
}

function named(pods: readonly NodePod[]): string {
  const names = pods.slice(0, MOST_NAMED).map(({ name }) => name);
  return `${names.join(', ')}${pods.length > MOST_NAMED ? `, and ${pods.length - MOST_NAMED} more` : ''}`;
}

function impossible(what: string, remedy: string): UnmetRequirement {
  return { reason: 'DrainNotPossible', what, remedy };
}
