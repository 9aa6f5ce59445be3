import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { destroyMachines, freeAddress, listMachines, startMachine } from '../lab/fleet.ts';
import type { Machine } from '../lab/machine.ts';

const NAME = 'quickstart';
const DOCUMENT = '/etc/machineadm/bootstrap.yaml';

/** Why the lab cannot be used here; undefined when it can. */
export function labObstacle(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the lab needs Linux on x86-64';
  if (process.getuid?.() !== 0) return 'the lab needs root';
  for (const program of ['/usr/bin/apt-get', '/usr/bin/dpkg']) {
    try {
      accessSync(program, constants.X_OK);
    } catch {
      return 'the lab needs Debian with apt';
    }
  }
  return undefined;
}

/**
 * A real control plane: boots a lab machine, puts the binary into it, runs `machineadm provision` and shows what it and
 * the cluster say. The machine is removed afterwards unless `keep`. Returns the exit status.
 */
export async function labQuickstart(binary: string, keep: boolean): Promise<number> {
  const began = performance.now();
  const say = (line: string): void => {
    console.log(`[${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s] ${line}`);
  };
  if (listMachines().some((machine) => machine.name === NAME)) {
    console.log(`A machine of an earlier quick start is still there; remove it: npm run lab -- down ${NAME}`);
    return 1;
  }
  say('A real node in a lab machine. The first run builds Kubernetes and the machine image: about ten minutes.');
  const machine = await startMachine({ name: NAME, ip: freeAddress(), temporary: !keep, progress: say });
  const interrupted = (): void => {
    say('interrupted; removing the machine');
    void destroyMachines([machine]).finally(() => {
      process.exitCode = 130;
    });
  };
  process.once('SIGINT', interrupted);
  try {
    say(`the machine is up at ${machine.ip}; putting the binary and the document into it`);
    await machine.copyIn(binary, '/usr/local/bin/machineadm');
    await machine.copyIn(join(import.meta.dirname, 'lab.yaml'), DOCUMENT);
    const provisioned = await show(machine, ['machineadm', 'provision', '-d', DOCUMENT]);
    await show(machine, ['machineadm', 'status']);
    await show(machine, ['machineadm', 'timeline']);
    // Not our word for it: what the API server says.
    await show(machine, ['kubectl', '--kubeconfig', '/etc/kubernetes/admin.conf', 'get', 'nodes', '-o', 'wide']);
    console.log('(NotReady until someone installs a pod network; the document asked for NodeRegistered.)\n');
    say(provisioned === 0 ? 'done' : `machineadm provision ended with exit code ${provisioned}`);
    return provisioned;
  } finally {
    process.off('SIGINT', interrupted);
    if (keep) {
      say(`the machine stays: npm run lab -- exec ${NAME} bash; remove it with npm run lab -- down ${NAME}`);
    } else {
      await destroyMachines([machine]);
      say('the machine is gone; keep it next time with npm run quickstart -- --keep');
    }
  }
}

/** Runs a command in the machine before the user's eyes. Returns its exit status. */
async function show(machine: Machine, command: readonly string[]): Promise<number> {
  console.log(`\n$ ${command.join(' ')}`);
  const { status } = await machine.exec(command, {
    timeoutMs: 15 * 60_000,
    onOutput: (stream, text) => void process[stream].write(text),
  });
  return status;
}
