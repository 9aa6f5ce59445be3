import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { Facts } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';
import { goArchitecture, installedVersions } from '../seam/version.ts';
import { READ_FACTS } from '../windows/facts-scripts.ts';
import { DRIVE } from '../windows/paths.ts';
import { askScript, notReturned } from '../windows/powershell.ts';
import { thisSystem } from '../windows/this-system.ts';
import { windowsQueryHost } from './windows-host.ts';

/**
 * The current facts about this Windows machine. Throws `HostStepFailed` where Windows does not answer,
 * `UnsupportedOnPlatform`.
 */
export async function gatherWindowsFacts(host: QueryHost, architecture: string = process.arch): Promise<Facts> {
  const told = await askScript(host, READ_FACTS);
  const [drive, boot, hostname] = ['drive', 'boot', 'hostname'].map((name) => text(member(told, name)));
  if (boot === undefined || hostname === undefined)
    throw notReturned('its start time and its name', 'Win32_OperatingSystem');
  if (drive?.toUpperCase() !== DRIVE) throw otherDrive(drive);
  const addresses = member(told, 'addresses');
  return {
    platform: 'windows',
    architecture: goArchitecture(architecture),
    os: { id: 'windows', version: text(member(told, 'build')) ?? '' },
    kernel: text(member(told, 'version')) ?? '',
    serviceManager: 'windows',
    hostname,
    machineId: text(member(told, 'machineGuid')) ?? '',
    bootId: boot,
    reported: {
      machineId: hostname,
      bootId: text(member(told, 'bootNumber')) ?? '',
      systemUuid: (text(member(told, 'firmware')) ?? '').replace(/[{}]/g, '').toUpperCase(),
    },
    // cloudbase-init keeps no metadata on the machine: it is identified by its own id, which sysprep regenerates.
    cloudInstanceId: undefined,
    nodeAddresses: (Array.isArray(addresses) ? addresses : [])
      .filter((address): address is string => typeof address === 'string')
      .filter((address) => !/^(169\.254\.|fe80:|127\.|::1$)/i.test(address))
      .sort(),
    isRoot: member(told, 'isAdministrator') === true,
    ...(await installedVersions(host)),
  };
}

function otherDrive(drive: string | undefined): MachineadmError {
  return new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `Windows is installed on ${drive ?? 'an unknown drive'}; machineadm prepares machines that have it on ${DRIVE}`,
    remedy: 'Use an image with Windows on C:, as those of the Kubernetes image-builder are.',
  });
}

/** The ids of this machine and of its boot only. Throws `HostStepFailed`. */
export async function readWindowsIdentity(): Promise<{ readonly machineId: string; readonly bootId: string }> {
  const told = await askScript(windowsQueryHost(thisSystem()), READ_FACTS);
  return { machineId: text(member(told, 'machineGuid')) ?? '', bootId: text(member(told, 'boot')) ?? '' };
}
