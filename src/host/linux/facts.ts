import { hostname, release } from 'node:os';
import { bootId, cloudInstanceId, machineId } from '../processes/identity.ts';
import type { Facts, Version } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';
import { parseVersion } from '../seam/version.ts';
import { nodeAddresses } from './node-addresses.ts';
import { serviceManagerKind } from './service-manager.ts';

/** Node's names of architectures, as Kubernetes and container images call them (Go's GOARCH). */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** What is true of this machine now, by queries only. */
export async function gatherLinuxFacts(host: QueryHost): Promise<Facts> {
  const [containerd, kubeadm, kubelet] = await Promise.all([
    versionOf(host, 'containerd', ['--version']),
    versionOf(host, 'kubeadm', ['version', '-o', 'short']),
    versionOf(host, 'kubelet', ['--version']),
  ]);
  const osRelease = (await host.readText('/etc/os-release')) ?? (await host.readText('/usr/lib/os-release')) ?? '';
  return {
    platform: 'linux',
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: parseOsRelease(osRelease),
    kernel: release(),
    serviceManager: serviceManagerKind(),
    hostname: hostname(),
    machineId: await machineId(),
    bootId: await bootId(),
    cloudInstanceId: await cloudInstanceId(),
    nodeAddresses: await nodeAddresses(host),
    isRoot: process.geteuid?.() === 0,
    containerd,
    kubeadm,
    kubelet,
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

async function versionOf(host: QueryHost, program: string, args: readonly string[]): Promise<Version | undefined> {
  const result = await host.query({ program, args });
  return result.status === 0 ? parseVersion(result.stdout) : undefined;
}
