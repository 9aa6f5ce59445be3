import { fstatSync } from 'node:fs';

/** Whether a reader of stdout reads stderr in the same place, as in the journal, with `2>&1` and in the log of a CI job. */
export function sharesDestination(): boolean {
  try {
    const [output, errors] = [fstatSync(1), fstatSync(2)];
    return output.ino === errors.ino && output.dev === errors.dev && output.rdev === errors.rdev;
  } catch {
    return false;
  }
}
