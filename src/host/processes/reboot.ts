import { MachineadmError } from '@machineadm/document/errors.ts';
import type { Facts } from '../seam/facts.ts';
import type { Command, Host } from '../seam/host.ts';
import { SYSTEM32 } from '../windows/paths.ts';

const TIMEOUT_MS = 60_000;

/**
 * Windows tells why in its Event Log: "planned, operating system, reconfiguration" (Microsoft Learn, shutdown; System
 * Shutdown Reason Codes). The pause lets this process end, and its exit code reach who started it.
 */
const WINDOWS: Command = {
  program: `${SYSTEM32}\\shutdown.exe`,
  args: ['/r', '/t', '5', '/d', 'p:2:4', '/c', 'machineadm: a change needs a reboot'],
};

/** What reboots each machine; the first that there is. */
const LINUX: readonly Command[] = [
  // It returns once the job is queued (systemctl(1)), and what is still running gets its time to end.
  { program: 'systemctl', args: ['reboot', '--no-block'] },
  { program: 'reboot', args: [] },
];

/** Has the machine reboot, some seconds after this returned. Throws `RebootRequired` where it cannot be done. */
export async function requestReboot(host: Pick<Host, 'run' | 'which'>, platform: Facts['platform']): Promise<void> {
  const command = platform === 'windows' ? WINDOWS : await firstInstalled(host, LINUX);
  const result = await host.run({ ...command, timeoutMs: TIMEOUT_MS });
  if (result.status === 0) return;
  throw new MachineadmError({
    reason: 'RebootRequired',
    summary: `The machine could not be rebooted: ${command.program} ended with ${result.status}.`,
    remedy: 'Reboot it by hand: the run goes on by itself then, where the machine is set up for that.',
    evidence: [{ source: command.program, text: result.stderr.trim() || result.stdout.trim() }],
  });
}

async function firstInstalled(host: Pick<Host, 'which'>, commands: readonly Command[]): Promise<Command> {
  for (const command of commands) if ((await host.which(command.program)) !== undefined) return command;
  return { program: 'reboot', args: [] };
}

/** How a run that was cut off is gone on with at the next boot. */
export interface Resumption {
  /** Has this command started at every boot from now on. Throws `ResumptionNotArranged`. */
  arrange(command: readonly string[]): Promise<void>;
  /** No more. Throws `ResumptionNotArranged`. */
  forget(): Promise<void>;
}

/**
 * undefined on Linux, where the image or whoever starts machineadm has a unit for that (packaging/systemd). Windows has
 * nothing that starts again what a boot cut off: cloudbase-init and Setup only do so when they are asked to in time.
 */
export async function resumptionOf(host: Host, platform: Facts['platform']): Promise<Resumption | undefined> {
  if (platform !== 'windows') return undefined;
  const { registerResumeTask, removeResumeTask } = await import('../windows/resume-task.ts');
  return { arrange: (command) => registerResumeTask(host, command), forget: () => removeResumeTask(host) };
}
