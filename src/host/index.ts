import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { runningSupervised } from './linux/commands.ts';
import { endOrphans as endLinuxOrphans } from './linux/orphans.ts';
import { gatherLinuxFacts } from './machine/linux-facts.ts';
import { type LinuxHostOptions, linuxHost, linuxQueryHost } from './machine/linux-host.ts';
import { gatherWindowsFacts } from './machine/windows-facts.ts';
import { windowsHost, windowsQueryHost } from './machine/windows-host.ts';
import type { Facts } from './seam/facts.ts';
import type { EndedOrphan, Host, QueryHost } from './seam/host.ts';
import { httpOf } from './secrets/agent-client.ts';
import { endWindowsOrphans, processRecorder } from './windows/orphans.ts';
import { thisSystem } from './windows/this-system.ts';

export type { NetworkSettings } from './secrets/agent-client.ts';

/** Identical on all platforms. */
export type HostOptions = LinuxHostOptions;

/** The running machine, read-only: the only access that `plan` gets. Throws `UnsupportedOnPlatform`. */
export function openQueryHost(): QueryHost {
  return platformOfThis() === 'windows' ? windowsQueryHost(thisSystem()) : linuxQueryHost();
}

/** The running machine, with the right to change it. `runId` marks supervised commands (see `endOrphans`). */
export function openHost(options: HostOptions): Host {
  if (platformOfThis() === 'linux') return linuxHost(options);
  const { runId, network, signal } = options;
  const system = thisSystem(processRecorder(runId));
  const http = httpOf(network, (command) => windowsHost(system, { http }).run(command));
  return windowsHost(system, { http, ...(signal === undefined ? {} : { signal }) });
}

/** Facts about the machine before any change, from queries only. */
export function gatherFacts(host: QueryHost): Promise<Facts> {
  return platformOfThis() === 'windows' ? gatherWindowsFacts(host) : gatherLinuxFacts(host);
}

/**
 * Ends processes that killed runs left behind. Call it only while holding the lock. Throws `HostStepFailed` when one
 * cannot be ended.
 *
 * @param unfinishedRuns ids of runs in this machine's journal that did not end regularly
 */
export function endOrphans(host: Host, unfinishedRuns: ReadonlySet<string>): Promise<readonly EndedOrphan[]> {
  return platformOfThis() === 'windows' ? endWindowsOrphans(host) : endLinuxOrphans(unfinishedRuns);
}

/** Whether a supervised command of this process is still running, even after SIGKILL. */
export function hasRunningCommands(): boolean {
  return runningSupervised.size > 0;
}

/**
 * Refuses a Linux-only function on other platforms. Throws `UnsupportedOnPlatform`.
 *
 * @param what its name for the user: `machineadm reset`
 */
export function requireLinux(what: string): void {
  if (platformOfThis() === 'linux') return;
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `${what} works on Linux machines only`,
    remedy:
      'On Windows there are plan, provision, status, diagnose and report; everything that needs no machine works, too.',
    exit: 'Refused',
  });
}

function platformOfThis(): Facts['platform'] {
  if (process.platform === 'linux') return 'linux';
  if (process.platform === 'win32') return 'windows';
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `this build of machineadm cannot prepare a machine that runs ${process.platform}`,
    remedy: 'Run it on Linux or Windows Server. Commands that validate and render documents work everywhere.',
  });
}
