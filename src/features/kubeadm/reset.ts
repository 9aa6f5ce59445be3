import { reportedIdentity } from '../../host/seam/facts.ts';
import { attemptOf } from '../../kubernetes/kubeadm/attempt.ts';
import { type Inventory, keeperOf, removablePaths } from '../../kubernetes/kubeadm/inventory.ts';
import { findLeftovers, type Leftovers, leftoversWithout } from '../../kubernetes/kubeadm/leftovers.ts';
import { decideRecovery, type Recovery } from '../../kubernetes/kubeadm/recovery.ts';
import { resetNode } from '../../kubernetes/kubeadm/reset.ts';
import { type ResetOrder, undoNote } from '../../kubernetes/kubeadm/reset-order.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import { documentPaths } from '../../kubernetes/provided.ts';
import { type LocatedKubernetes, located } from '../../kubernetes/runtime-socket.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { inventoryFor } from './inventory.ts';

export interface KubeadmResetDesired {
  readonly kubernetes: LocatedKubernetes;
  readonly nodeName: string;
  readonly nodeNameGiven: boolean;
  readonly machineId: string;
  readonly systemUuid: string | undefined;
  /** Paths that the document itself writes. */
  readonly provided: ReadonlySet<string>;
}

export interface KubeadmResetActual {
  readonly leftovers: Leftovers;
  readonly recovery: Recovery;
  /** The paths that a reset keeps, and those that it deletes. */
  readonly inventory: Inventory;
  readonly removes: readonly string[];
  readonly attempt: ResetOrder['attempt'];
}

export interface KubeadmResetPayload extends Pick<KubeadmResetActual, 'inventory' | 'attempt'> {
  readonly desired: KubeadmResetDesired;
  readonly offline: boolean;
  readonly leftovers: readonly string[];
}

const RESET = 'kubeadm-reset/reset';

/**
 * Cleans up after an attempt that was killed or failed, and after the original of a cloned disk, so that kubeadm starts
 * from nothing. It precedes files, containerd and PKI, because a reset deletes what they write.
 * `kubernetes/kubeadm/recovery.ts` decides whether to reset, to continue or to touch nothing.
 */
export const kubeadmReset: FeatureStep<KubeadmResetDesired, KubeadmResetActual, KubeadmResetPayload> = {
  id: 'kubeadm-reset',
  section: 'kubernetes',
  isRequested: STAYS,

  desired(model, facts) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    const nodeName = expectedNodeName(kubernetes, model, facts);
    const { machineId, systemUuid } = reportedIdentity(facts);
    const nodeNameGiven = kubernetes.node.name !== undefined;
    const provided = documentPaths(kubernetes, model.host.files);
    const here = located(kubernetes, model, facts);
    return { kubernetes: here, nodeName, nodeNameGiven, machineId, systemUuid, provided };
  },

  async inspect(host, desired, record) {
    const { kubernetes } = desired;
    const places = undoNote(kubernetes, desired.nodeName);
    const found = await findLeftovers(host, kubernetes, desired.provided);
    const inventory = await inventoryFor(host, places, record);
    const attempt = attemptOf(record.attempts);
    const keeper = keeperOf(inventory);
    const { bootstrap, foreignLeftovers } = record;
    const past = {
      ...desired,
      role: kubernetes.role,
      bootstrap,
      foreignLeftovers,
      leftovers: found,
      inventory,
      attempt,
    };
    const recovery = await decideRecovery(host, past);
    // A reset deletes its files near its end: their absence does not prove that it completed.
    const unfinished = recovery === 'none' && bootstrap !== 'done' && record.interrupted.has(RESET);
    const again = foreignLeftovers && bootstrap === 'none' ? 'reset-offline' : 'reset';
    return {
      leftovers: leftoversWithout(found, keeper),
      recovery: unfinished ? again : recovery,
      inventory,
      removes: await removablePaths(host, places, keeper),
      attempt,
    };
  },

  plan(desired, { leftovers, recovery, inventory, removes, attempt }) {
    if (recovery !== 'reset' && recovery !== 'reset-offline') return [];
    const offline = recovery === 'reset-offline';
    const paths = offline ? leftovers.traces : [...leftovers.traces, ...leftovers.certificates];
    const whose = offline ? 'the machine this disk was copied from' : 'an earlier attempt';
    const what = inventory.length === 0 ? 'kubeadm reset: remove' : 'reset the node: remove';
    const kept =
      inventory.length === 0 ? '' : `; keep what was there before (${abridged(inventory.map(({ path }) => path))})`;
    return [
      {
        id: RESET,
        summary: `${what} what ${whose} left (${abridged(paths)})${kept}`,
        scope: 'node',
        repeatable: false,
        // It deletes what hooks wrote below /etc/kubernetes (kube-vip), so they run again, on a new configuration.
        undoes: ['kubeadm', 'kubeadm-config', 'hooks-before-bootstrap', 'api-server', 'readiness', 'sentinel'],
        removes,
        payload: { desired, offline, leftovers: paths, inventory, attempt },
      },
    ];
  },

  async apply(host, { payload }, execution) {
    const { desired, offline, leftovers, inventory, attempt } = payload;
    // An init that is reset has not published its cluster, so no machine has joined it, and its etcd has no other
    // member.
    const isAlone = desired.kubernetes.role === 'InitControlPlane';
    await resetNode(
      host,
      {
        ...undoNote(desired.kubernetes, desired.nodeName),
        machineId: desired.machineId,
        offline: offline || isAlone,
        automatic: true,
        leftovers,
        inventory,
        attempt,
      },
      {
        signal: execution.signal,
        line: (text) => execution.output('kubeadm', text),
        warn: (message) => execution.warn(message),
        waitingFor: (what) => execution.waitingFor(what),
      },
    );
  },
};

function abridged(paths: readonly string[]): string {
  if (paths.length === 0) return 'an interrupted reset is run again';
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}
