import type { ReportCondition } from '../event.ts';
import type { Moment } from '../run-state.ts';

/** What a look at the node found. */
export interface Observation {
  readonly healthy: boolean;
  /** CamelCase; of an unhealthy node one of the published reasons. */
  readonly reason: string;
  /** One line: what was seen. */
  readonly why: string;
  /** True where nobody could be asked, so that it may be otherwise. */
  readonly unknown: boolean;
}

/** What is believed of the node, and what was seen since that speaks against it. */
export interface NodeHealth {
  readonly condition: ReportCondition | undefined;
  /** How many looks in a row saw something else than is believed. */
  readonly doubts: number;
}

export const NOTHING_SEEN: NodeHealth = { condition: undefined, doubts: 0 };

/** A kubelet that is restarted is away for a look: what got worse must be seen so often, in a row. */
const CONVINCING = 2;

/**
 * What is believed after one more look. What is first seen counts, and that the node works counts at once; that it does
 * not, only when it is seen again. Another reason for the same is news, too, but no change of the status, so that the
 * time of that stays (metav1.Condition).
 */
export function observed(health: NodeHealth, observation: Observation, at: Moment): NodeHealth {
  const now = conditionOf(observation, at);
  const { condition: before } = health;
  if (before === undefined) return { condition: now, doubts: 0 };
  if (before.status === now.status && before.reason === now.reason) return { condition: before, doubts: 0 };
  const doubts = health.doubts + 1;
  if (now.status !== 'True' && doubts < CONVINCING) return { condition: before, doubts };
  const lastTransitionTime = before.status === now.status ? before.lastTransitionTime : now.lastTransitionTime;
  return { condition: { ...now, lastTransitionTime }, doubts: 0 };
}

function conditionOf({ healthy, reason, why, unknown }: Observation, at: Moment): ReportCondition {
  return {
    type: 'machineadm.dev/NodeHealthy',
    status: healthy ? 'True' : unknown ? 'Unknown' : 'False',
    reason,
    message: why,
    lastTransitionTime: new Date(at.time).toISOString(),
  };
}
