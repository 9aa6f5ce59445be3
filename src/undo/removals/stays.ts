import type { Model } from '@machineadm/document/model/index.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import type { ChangedByStep, StepsById } from '../../step/feature-step.ts';
import type { FollowUp, StepRecord } from '../../step/index.ts';
import type { Memory } from '../../step/memory.ts';
import type { ResetAction } from '../../step/reset-action.ts';

/** Something of an earlier run that the document does not ask for any more. */
export interface Dropped {
  readonly id: string;
  readonly summary: string;
  /** undefined: it stays, which is reported once. */
  readonly perform?: ResetAction['perform'];
  /** What is as it was before the first run once this is done. */
  readonly restores?: Resource | undefined;
  readonly owes?: readonly FollowUp[];
}

/** Without those that stay and were reported before. */
export function notReported(dropped: readonly Dropped[], { notes }: StepRecord): readonly Dropped[] {
  return dropped.filter(({ id, summary, perform }) => perform !== undefined || notes.get(id) !== summary);
}

/** What no run takes back, and why. */
export function staysOf(steps: StepsById, model: Model, memory: Memory): readonly Dropped[] {
  if (model.host.prune === 'Never') return [];
  const found = new Map<string, string>();
  // The effects of hooks come last: machineadm does not know them.
  const all = [...steps.values()].toSorted((a, b) => Number(a.hooks !== undefined) - Number(b.hooks !== undefined));
  for (const step of all)
    for (const [id, what] of step.stays?.(model, changedBy(step.id, memory)) ?? []) found.set(id, what);
  return [...found].map(([id, what]) => ({
    id: `removals/stays/${id}`,
    summary: `no longer in the document: ${what}`,
  }));
}

function changedBy(id: string, memory: Memory): ChangedByStep {
  const resources = [...memory.before].flatMap(([resource, { step, was }]) =>
    step !== id || memory.others(resource, step) ? [] : [{ ...partsOf(resource), resource, isMade: was === null }],
  );
  return { resources, acted: memory.acted.get(id), memory };
}
