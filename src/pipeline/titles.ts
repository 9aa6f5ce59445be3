import { ALL_STEPS } from './pipeline.ts';

/** What people call each step, by its id. */
export function stepTitles(): ReadonlyMap<string, string> {
  return new Map(ALL_STEPS.map((step) => [step.id, step.title]));
}
