import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

const CONTROLLERS = '/sys/fs/cgroup';

/** The directories of a machine's cgroups, one for each controller (boot.sh makes them). */
export function machineCgroups(name: string): string[] {
  return readdirSync(CONTROLLERS)
    .map((controller) => join(CONTROLLERS, controller, 'machineadm-lab', name))
    .filter((directory) => existsSync(directory));
}

/**
 * The cgroups in which a machine sees its processes: where systemd-nspawn hands a hierarchy to the machine it makes
 * `payload` below ours (systemd src/nspawn/nspawn-cgroup.c create_subcgroup), elsewhere it is ours.
 */
export function innerCgroups(name: string): string[] {
  return machineCgroups(name).map((directory) => {
    const payload = join(directory, 'payload');
    return existsSync(payload) ? payload : directory;
  });
}

/** The pids, as the host counts them, of all processes of a machine. */
export function machineProcesses(name: string): number[] {
  const [group] = machineCgroups(name);
  return group === undefined ? [] : processesBelow(group);
}

function processesBelow(group: string): number[] {
  try {
    const own = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    const inner = readdirSync(group, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...own, ...inner.flatMap((entry) => processesBelow(join(group, entry.name)))];
  } catch {
    return []; // it was removed meanwhile
  }
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
