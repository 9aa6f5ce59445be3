import * as z from 'zod';

/** A condition in the form of Cluster API v1beta2 (metav1.Condition). */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  /** The generation of the object that it is about. */
  readonly observedGeneration?: number | undefined;
}

/** Types that a machine may report. Every other one is ignored: a machine must not claim `InfrastructureReady`. */
export const REPORTED_TYPES = [
  'machineadm.dev/BootstrapSucceeded',
  'machineadm.dev/AfterBootstrapHooksSucceeded',
  'machineadm.dev/NodeHealthy',
  'machineadm.dev/NodeLabelsSet',
] as const;

/** Keys of the ConfigMap that hold conditions; the first that has a type wins. */
const KEYS = ['conditions.json', 'watch-conditions.json'] as const;
const LONGEST_MESSAGE = 1024;

const Reported = z.object({
  type: z.enum(REPORTED_TYPES),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z
    .string()
    .max(256)
    .regex(/^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/),
  message: z.unknown().optional(),
});

export type Judged = Omit<Condition, 'lastTransitionTime'>;

/**
 * The conditions that a machine reported in its ConfigMap, without everything that it may not say. A machine that was
 * taken over writes there what it likes: each field is checked, and entries that do not fit are left out.
 */
export function reportedConditions(data: Readonly<Record<string, string>> | null | undefined): readonly Judged[] {
  const byType = new Map<string, Judged>();
  for (const key of KEYS) {
    for (const entry of parsedList(data?.[key])) {
      const { success, data: condition } = Reported.safeParse(entry);
      if (!success || byType.has(condition.type)) continue;
      const { type, status, reason, message } = condition;
      const text = typeof message === 'string' ? message.slice(0, LONGEST_MESSAGE) : '';
      // Never empty: Kubernetes 1.20 refuses an empty string in a custom resource.
      byType.set(type, { type, status, reason, message: text === '' ? reason : text });
    }
  }
  return [...byType.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function parsedList(text: string | undefined): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/**
 * The conditions to apply, with the time of the last change of status by the clock of this cluster: a MachineHealthCheck
 * counts from it, and machines boot with wrong clocks. undefined = the object has them already.
 */
export function conditionsToApply(
  reported: readonly Judged[],
  present: readonly Condition[],
  now: Date,
): readonly Condition[] | undefined {
  const had = new Map(present.map((condition) => [condition.type, condition]));
  const isCurrent = reported.every(({ type, status, reason, message, observedGeneration }) => {
    const one = had.get(type);
    const isSame = one?.status === status && one.reason === reason && one.message === message;
    return isSame && (observedGeneration === undefined || one?.observedGeneration === observedGeneration);
  });
  if (isCurrent) return undefined;
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return reported.map((condition) => {
    const before = had.get(condition.type);
    return { ...condition, lastTransitionTime: before?.status === condition.status ? before.lastTransitionTime : time };
  });
}
