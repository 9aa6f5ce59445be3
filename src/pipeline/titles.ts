import { ALL_STEPS, stepsFor } from './pipeline.ts';

/** What people call each step, by its id. */
export function stepTitles(): ReadonlyMap<string, string> {
  return new Map([...stepsFor('all', 'windows'), ...ALL_STEPS].map((step) => [step.id, step.title]));
}
