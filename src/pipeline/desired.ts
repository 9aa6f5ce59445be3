import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Step, StepRecord } from '../step/index.ts';

/**
 * What the document asks of a step that has work: one that the document or the journal gives something to do.
 * undefined: the step is not part of the run.
 */
export function desiredOf(step: Step, model: Model, facts: Facts, record: (step: string) => StepRecord): unknown {
  const desired = step.desired(model, facts);
  return desired !== undefined && step.idle?.(desired, record(step.id)) === true ? undefined : desired;
}
