import { ALL_STEPS, stepsFor } from './pipeline.ts';

/** What people call each step, by its id; in the order of a run on Linux, then what only Windows has. */
export function stepTitles(): ReadonlyMap<string, string> {
  return new Map([...ALL_STEPS, ...stepsFor('all', 'windows'), ...ALL_STEPS].map((step) => [step.id, step.title]));
}

/** The same as a function: of a step that this machineadm does not know its id. */
export function titleOfStep(): (step: string) => string {
  const titles = stepTitles();
  return (step) => titles.get(step) ?? step;
}
