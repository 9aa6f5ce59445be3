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
 * The cgroups of the processes in a machine. If systemd-nspawn delegates a hierarchy to the machine, it creates `payload`
 * below the machine's cgroup (systemd src/nspawn/nspawn-cgroup.c create_subcgroup); otherwise it is the machine's cgroup.
 */
export function innerCgroups(name: string): string[] {
  return machineCgroups(name).map((directory) => {
    const payload = join(directory, 'payload');
    return existsSync(payload) ? payload : directory;
  });
}

/** The pids of all processes of a machine, in the pid namespace of the host. */
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
    return []; // It was removed in the meantime.
  }
}

/** Removes the cgroups of a stopped machine, innermost first. A cgroup with a process is not removed. */
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
