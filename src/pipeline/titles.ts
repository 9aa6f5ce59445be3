import { ALL_STEPS, stepsFor } from './pipeline.ts';

/** The title of each step by its id; in the order of a run on Linux, then those of Windows only. */
export function stepTitles(): ReadonlyMap<string, string> {
  return new Map([...ALL_STEPS, ...stepsFor('all', 'windows'), ...ALL_STEPS].map((step) => [step.id, step.title]));
}

/** The same as a function; the id itself for an unknown step. */
export function titleOfStep(): (step: string) => string {
  const titles = stepTitles();
  return (step) => titles.get(step) ?? step;
}
