import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Facts } from '../seam/facts.ts';
import type { Command, Host } from '../seam/host.ts';
import { SYSTEM32 } from '../windows/paths.ts';

const TIMEOUT_MS = 60_000;

/**
 * The reason that Windows records in its Event Log: "planned, operating system, reconfiguration" (Microsoft Learn,
 * shutdown; System Shutdown Reason Codes). The delay lets this process end and pass on its exit code.
 */
const WINDOWS: Command = {
  program: `${SYSTEM32}\\shutdown.exe`,
  args: ['/r', '/t', '5', '/d', 'p:2:4', '/c', 'machineadm: a change needs a reboot'],
};

/** Programs that reboot a machine; the first one that exists is used. */
const LINUX: readonly Command[] = [
  // It returns when the job is queued (systemctl(1)); running services get their time to stop.
  { program: 'systemctl', args: ['reboot', '--no-block'] },
  { program: 'reboot', args: [] },
];

/** Requests a reboot, which begins some seconds later. Throws `RebootRequired` where that is not possible. */
export async function requestReboot(host: Pick<Host, 'run' | 'which'>, platform: Facts['platform']): Promise<void> {
  const command = platform === 'windows' ? WINDOWS : await firstInstalled(host, LINUX);
  const result = await host.run({ ...command, timeoutMs: TIMEOUT_MS });
  if (result.status === 0) return;
  throw new MachineadmError({
    reason: 'RebootRequired',
    summary: `The machine could not be rebooted: ${command.program} ended with ${result.status}.`,
    remedy: 'Reboot it manually: the run then resumes automatically if the machine is set up for that.',
    evidence: [{ source: command.program, text: result.stderr.trim() || result.stdout.trim() }],
  });
}

async function firstInstalled(host: Pick<Host, 'which'>, commands: readonly Command[]): Promise<Command> {
  for (const command of commands) if ((await host.which(command.program)) !== undefined) return command;
  return { program: 'reboot', args: [] };
}

/** How an interrupted run resumes at the next boot. */
export interface Resumption {
  /** Starts this command at every boot from now on. Throws `ResumptionNotArranged`. */
  arrange(command: readonly string[]): Promise<void>;
  /** Stops doing so. Throws `ResumptionNotArranged`. */
  forget(): Promise<void>;
}

/**
 * undefined on Linux, where the image or the first-boot system has a unit for it (packaging/systemd). On Windows
 * nothing restarts an interrupted program: cloudbase-init and Setup only do so on request.
 */
export async function resumptionOf(host: Host, platform: Facts['platform']): Promise<Resumption | undefined> {
  if (platform !== 'windows') return undefined;
  const { registerResumeTask, removeResumeTask } = await import('../windows/resume-task.ts');
  return { arrange: (command) => registerResumeTask(host, command), forget: () => removeResumeTask(host) };
}
