import type { ReportCondition } from '@machineadm/status/event.ts';
import type { Moment } from '@machineadm/status/run-state.ts';

/** The result of one check of the node. */
export interface Observation {
  readonly healthy: boolean;
  /** CamelCase; for an unhealthy node one of the published reasons. */
  readonly reason: string;
  /** One line: the observation. */
  readonly why: string;
  /** True where no API server could be queried, so that it may be otherwise. */
  readonly unknown: boolean;
}

/** The confirmed state of the node, and later observations that contradict it. */
export interface NodeHealth {
  readonly condition: ReportCondition | undefined;
  /** The number of consecutive contradicting observations. */
  readonly doubts: number;
}

export const NOTHING_SEEN: NodeHealth = { condition: undefined, doubts: 0 };

/** A kubelet that restarts is away for one check: a deterioration must be observed this many times in a row. */
const CONVINCING = 2;

/**
 * The state after one more observation. The first observation counts, and recovery counts at once; a failure only when
 * it is observed again. A different reason for the same status is reported, but does not change the time of that status
 * (metav1.Condition).
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
