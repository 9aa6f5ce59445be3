import { MachineadmError } from '../document/errors.ts';
import type { Facts } from './facts.ts';
import type { Host, QueryHost } from './host.ts';
import { gatherLinuxFacts } from './linux/facts.ts';
import { type LinuxHostOptions, linuxHost, linuxQueryHost } from './linux/host.ts';

export type { NetworkSettings } from './linux/host.ts';
export { type EndedOrphan, endOrphans } from './linux/orphans.ts';

/** The machine this runs on, read-only: `plan` gets this and nothing else. Throws `UnsupportedOnPlatform`. */
export function openQueryHost(): QueryHost {
  assertLinux();
  return linuxQueryHost();
}

/** The machine this runs on, with the right to change it. `runId` marks supervised commands (see `endOrphans`). */
export function openHost(options: LinuxHostOptions): Host {
  assertLinux();
  return linuxHost(options);
}

/** What is true of the machine before anything is changed, by queries only. */
export function gatherFacts(host: QueryHost): Promise<Facts> {
  return gatherLinuxFacts(host);
}

function assertLinux(): void {
  if (process.platform === 'linux') return;
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `this build of machineadm cannot prepare a machine that runs ${process.platform}`,
    remedy: 'Run it on Linux; validating and rendering documents works everywhere.',
  });
}
