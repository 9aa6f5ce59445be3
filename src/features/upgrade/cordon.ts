import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import { KubeconfigUnusable, parseKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { ClusterUnanswered, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { setUnschedulable } from '../../kubernetes/upgrade/drain.ts';
import { releaseLease } from '../../kubernetes/upgrade/lease.ts';
import type { Execution, StepRecord } from '../../step/index.ts';
import type { DrainOrder, Upgrade } from '../../step/upgrade-order.ts';
import { nodeNameOf, type UpgradeDesired } from './desired.ts';

/** The change that drains the node; its note says whether it cordoned it. */
export const DRAIN_CHANGE = 'upgrade-drain/run';

/** What an upgrade may have taken from others. */
export interface Cordon {
  readonly desired: UpgradeDesired;
  readonly upgrade: Upgrade;
  /** Whether it cordoned the node. */
  readonly cordoned: boolean;
}

/** Whether this upgrade cordoned the node, so that it must let pods in again. */
export function hasCordoned(record: Pick<StepRecord, 'memory'>): boolean {
  return member(record.memory().note('upgrade-drain', DRAIN_CHANGE), 'cordons') === true;
}

/** With which this machine may evict pods. Throws `ClusterUnanswered`. */
export async function drainCredential(
  host: QueryHost,
  { isControlPlane }: Pick<UpgradeDesired, 'isControlPlane'>,
  drain: DrainOrder,
): Promise<ApiCredential> {
  const path = drain.by === 'machineadm' ? drain.kubeconfig : undefined;
  if (path === undefined) return await ownCredential(host, isControlPlane);
  const source = await host.readText(path);
  if (source === undefined) throw new ClusterUnanswered(`${path} does not exist`);
  try {
    return await parseKubeconfig(source, path, (file) => host.readText(file));
  } catch (error) {
    if (error instanceof KubeconfigUnusable) throw new ClusterUnanswered(error.message);
    throw error;
  }
}

/** Gives back what keeps others from working: the cordon of this node, and the turn among the control planes. */
export async function release(
  host: Host,
  { desired, upgrade: { drain }, cordoned }: Cordon,
  execution: Pick<Execution, 'signal' | 'warn'>,
): Promise<void> {
  const { signal } = execution;
  const name = await nodeNameOf(host, desired);
  try {
    if (cordoned) await setUnschedulable(await drainCredential(host, desired, drain), name, false, signal);
    const why = desired.isControlPlane ? await releaseLease(await ownCredential(host, true), name, signal) : undefined;
    if (why !== undefined) throw new ClusterUnanswered(why);
  } catch (error) {
    if (!(error instanceof ClusterUnanswered)) throw error;
    throw new MachineadmError({
      reason: 'UpgradeNotProven',
      summary: cordoned
        ? `The node ${name} may still be cordoned, and the upgrade of other control planes blocked: ${error.why}.`
        : `The upgrade of other control planes may still be blocked by ${name}: ${error.why}.`,
      remedy: 'Make sure that the API server answers, then run machineadm upgrade again.',
      evidence: [{ source: 'API server', text: error.why }],
      retryable: true,
    });
  }
}
