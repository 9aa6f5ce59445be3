import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const CONTROLLERS = '/sys/fs/cgroup';

/** The directories of a machine's cgroups, one for each controller (boot.sh makes them). */
export function machineCgroups(name: string): string[] {
  return readdirSync(CONTROLLERS)
    .map((controller) => join(CONTROLLERS, controller, 'machineadm-lab', name))
    .filter((directory) => existsSync(directory));
}

/** Removes a dead machine's cgroups, innermost first. A cgroup that still holds a process stays. */
export function removeMachineCgroups(name: string): void {
  for (const directory of machineCgroups(name)) removeTree(directory);
}

function removeTree(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(directory, entry.name));
  }
  try {
    rmdirSync(directory);
  } catch {
    // EBUSY: a process is still leaving it. The next machine of this name uses it again.
  }
}
