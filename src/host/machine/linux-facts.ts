import { hostname, release } from 'node:os';
import { interfaces, nodeAddresses } from '../linux/node-addresses.ts';
import { runtimeSockets } from '../linux/runtime-sockets.ts';
import { serviceManagerKind } from '../linux/service-manager.ts';
import { interfaceAddresses } from '../network/interface-addresses.ts';
import type { Facts } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';
import { goArchitecture, installedVersions } from '../seam/version.ts';
import { bootId, cloudInstanceId, machineId } from './identity.ts';

/** The current facts about this machine, from queries only. */
export async function gatherLinuxFacts(host: QueryHost): Promise<Facts> {
  const osRelease = (await host.readText('/etc/os-release')) ?? (await host.readText('/usr/lib/os-release')) ?? '';
  return {
    platform: 'linux',
    architecture: goArchitecture(process.arch),
    os: parseOsRelease(osRelease),
    kernel: release(),
    serviceManager: serviceManagerKind(),
    hostname: hostname(),
    machineId: await machineId(),
    bootId: await bootId(),
    cloudInstanceId: await cloudInstanceId(),
    nodeAddresses: await nodeAddresses(host),
    addresses: await interfaceAddresses(host),
    interfaces: interfaces(),
    runtimeSockets: await runtimeSockets(host),
    isRoot: process.geteuid?.() === 0,
    ...(await installedVersions(host)),
  };
}

/** `ID` and `VERSION_ID` of os-release(5), with its defaults: an ID of "linux", no version for a rolling release. */
export function parseOsRelease(text: string): Facts['os'] {
  const value = (key: string): string | undefined => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${key}=`));
    return line
      ?.slice(key.length + 1)
      .trim()
      .replace(/^"(.*)"$|^'(.*)'$/, '$1$2');
  };
  return { id: value('ID') ?? 'linux', version: value('VERSION_ID') ?? '' };
}
